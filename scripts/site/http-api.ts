import type { Page } from './page.ts'
import { upFrom } from './links.ts'
import { code, memberTable, type Schema, typeOf } from './schema.ts'

interface Content {
  readonly content?: { readonly 'application/json': { readonly schema: Schema } }
}
interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly security: readonly object[]
  readonly parameters: readonly { name: string; in: string; required: boolean; schema: Schema }[]
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content & { description: string }>>
}
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly securitySchemes: Readonly<Record<string, { description: string }>>
  }
}

const SLUG = 'reference/http-api'
const SCHEMAS = `${SLUG}/schemas`

/** The pages of the HTTP API: an index, a page for each group of endpoints, and the schemas. */
export function httpApiPages(api: OpenApi): readonly Page[] {
  const groups = Map.groupBy(
    Object.entries(api.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        path,
        method: method.toUpperCase(),
        operation,
      })),
    ),
    ({ path }) => /^\/api\/v1\/([\w-]+)/.exec(path)?.[1] ?? 'service',
  )
  const pages = [...groups].map(
    ([group, endpoints]): Page => ({
      slug: `${SLUG}/${group}`,
      title: `HTTP API: ${group}`,
      body: endpoints
        .map(({ path, method, operation }) =>
          operationText({ path, method, operation, api, from: `${SLUG}/${group}` }),
        )
        .join('\n'),
    }),
  )
  const index = [...groups].map(([group, endpoints]) => {
    const rows = endpoints.map(
      ({ path, method, operation }) =>
        `| [${code(`${method} ${path}`)}](./${group}/#${operation.operationId.toLowerCase()}) | ${operation.summary} |`,
    )
    return `## ${group}\n\n| endpoint | description |\n|---|---|\n${rows.join('\n')}\n`
  })
  const schemas = Object.entries(api.components.schemas).map(
    ([name, schema]) =>
      `## ${name}\n\n${memberTable(schema, (other) => `[${other}](#${other.toLowerCase()})`)}`,
  )
  return [
    {
      slug: SLUG,
      title: 'HTTP API',
      body: `Every endpoint of the service, from its [OpenAPI 3.1 document](../openapi.json). The [protocol](../protocol/) defines what each call means. The bodies are on the page of [all schemas](./schemas/).\n\n${callers(api)}\n${index.join('\n')}`,
    },
    ...pages,
    { slug: SCHEMAS, title: 'HTTP API: schemas', body: schemas.join('\n') },
  ]
}

function callers(api: OpenApi): string {
  const rows = Object.entries(api.components.securitySchemes).map(
    ([name, { description }]) => `| ${code(name)} | ${description} |`,
  )
  return `| credential | form and holder |\n|---|---|\n${rows.join('\n')}\n`
}

interface Endpoint {
  readonly path: string
  readonly method: string
  readonly operation: Operation
  readonly api: OpenApi
  readonly from: string
}

/** Headers that every endpoint reads: the page of the protocol describes them. */
const EVERYWHERE = ['X-Request-Id', 'traceparent']

function operationText({ path, method, operation, api, from }: Endpoint): string {
  const up = upFrom(from)
  const linkOf = (name: string) => `[${name}](${up}${SCHEMAS}/#${name.toLowerCase()})`
  const parameters = operation.parameters
    .filter(({ name }) => !EVERYWHERE.includes(name))
    .map(({ name, in: where, required, schema }) => {
      const { pattern, description } = schema
      const about = [
        required ? '' : 'Optional.',
        description,
        pattern && `Matches ${code(pattern)}.`,
      ]
      return `| ${code(name)} | ${where} | ${about.filter(Boolean).join(' ')} |`
    })
  const responses = Object.entries(operation.responses).map(([status, response]) => {
    const schema = response.content?.['application/json'].schema
    return `| ${status} | ${reasonLinks(response.description, up)} | ${schema ? typeOf(schema, linkOf) : ''} |`
  })
  const body = operation.requestBody?.content?.['application/json'].schema
  /** The members of a body, beside the endpoint that takes or returns it. */
  const membersOf = (name: string, schema: Schema | undefined) => {
    if (schema === undefined) return ''
    const named = schema.$ref?.split('/').at(-1)
    const known = named === undefined ? schema : api.components.schemas[named]
    return known === undefined ? '' : `**${name}**\n\n${memberTable(known, linkOf)}`
  }
  const success = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))
  const credentials = operation.security.map((one) => Object.keys(one).map(code).join() || 'none')
  return [
    `## ${operation.operationId}`,
    operation.summary,
    `\`\`\`http\n${method} ${path}\n\`\`\``,
    `Credential: ${credentials.length === 0 ? 'none' : credentials.join(' or ')}.${operation.description ? ` ${operation.description}` : ''}${body ? ` Body: ${typeOf(body, linkOf)}.` : ''}`,
    parameters.length === 0
      ? ''
      : `| parameter | in | description |\n|---|---|---|\n${parameters.join('\n')}`,
    membersOf('Request body', body),
    membersOf('Response', success?.[1].content?.['application/json'].schema),
    `| status | reason | body |\n|---|---|---|\n${responses.join('\n')}\n`,
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

/** The reasons of a status as links to their pages, or its description. */
function reasonLinks(description: string, up: string): string {
  const reasons = [...description.matchAll(/^`(\w+)`: /gm)].map(
    ([, reason = '']) => `[${code(reason)}](${up}reference/reasons/${reason}/)`,
  )
  return reasons.length > 0 ? reasons.join(', ') : description
}
