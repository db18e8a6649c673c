import type { Page } from './page.ts'
import { code, memberTable, type Schema } from './schema.ts'

interface Message {
  readonly summary: string
  readonly headers?: Schema
  readonly payload: Schema
}
interface Channel {
  readonly address: string | null
  readonly title: string
  readonly description: string
  readonly messages: Readonly<Record<string, object>>
}
export interface AsyncApi {
  readonly info: { readonly description: string }
  readonly channels: Readonly<Record<string, Channel>>
  readonly components: {
    readonly messages: Readonly<Record<string, Message>>
    readonly schemas: Readonly<Record<string, Schema>>
    readonly securitySchemes: Readonly<Record<string, { name: string; description: string }>>
  }
}

/** The page of the channel and of webhooks. */
export function asyncApiPage(api: AsyncApi): Page {
  const security = Object.values(api.components.securitySchemes).map(
    ({ name, description }) => `${code(name)}: ${description}`,
  )
  const channels = Object.values(api.channels).map((channel) =>
    [
      `## ${channel.title}`,
      channel.address === null ? '' : `\`\`\`http\nGET ${channel.address}\n\`\`\``,
      channel.description,
      channel.address === null ? headersOf(channel, api) : security.join('\n\n'),
      ...Object.keys(channel.messages).map((name) => messageText(name, api)),
    ]
      .filter((part) => part !== '')
      .join('\n\n'),
  )
  return {
    slug: 'reference/channel-and-webhooks',
    title: 'Channel and webhooks',
    body: `${api.info.description} See [the protocol](../protocol/) and the [AsyncAPI 3 document](../asyncapi.json).\n\n${channels.join('\n\n')}\n`,
  }
}

/** Every webhook has the same headers. */
function headersOf({ messages }: Channel, api: AsyncApi): string {
  const [first = ''] = Object.keys(messages)
  const headers = api.components.messages[first]?.headers
  return headers ? memberTable(headers, code).replace('| member ', '| header ') : ''
}

function messageText(name: string, api: AsyncApi): string {
  const { summary, payload } = api.components.messages[name] ?? {}
  return `### ${name}\n\n${summary}\n\n${memberTable(merged(payload ?? {}, api), code)}`
}

/** A payload that refines a named schema, as one schema. */
function merged(schema: Schema, api: AsyncApi): Schema {
  if (schema.$ref !== undefined)
    return api.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}
  const [base, refinement] = schema.allOf ?? []
  if (base === undefined || refinement === undefined) return schema
  return refined(merged(base, api), refinement)
}

function refined(base: Schema, refinement: Schema): Schema {
  const names = Object.entries(base.properties ?? {}).map(([name, member]) => {
    const change = refinement.properties?.[name]
    return [name, change === undefined ? member : change && member && refined(member, change)]
  })
  const { properties: _, enum: values, ...rest } = refinement
  return {
    ...base,
    ...rest,
    ...(refinement.const === undefined ? {} : { enum: undefined }),
    ...(names.length > 0 ? { properties: Object.fromEntries(names) as Schema['properties'] } : {}),
    ...(values ? { enum: values } : {}),
  } as Schema
}
