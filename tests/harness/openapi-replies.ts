import assert from 'node:assert/strict'
import { COMPLETION_SECRET } from '@bonded/contract'
import { Compile } from 'typebox/schema'
import { openApiDocument } from '../../packages/server/src/http/openapi.ts'
import type { Reply } from './harness.ts'

interface Operation {
  readonly operationId: string
  readonly description?: string
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly requestBody?: { content?: { 'application/json': { schema: object } } }
  readonly responses: Readonly<
    Record<
      string,
      {
        description?: string
        headers?: object
        content?: { 'application/json': { schema: object } }
      }
    >
  >
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>
    readonly securitySchemes: Readonly<Record<string, { readonly description: string }>>
  }
}

/** The published OpenAPI document. */
export const document = JSON.parse(
  JSON.stringify(openApiDocument({ origin: 'https://bond.example', version: '0.0.0' })),
) as Document

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    path,
    method: method.toUpperCase(),
    pattern: new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    operation,
    checks: new Map(
      Object.entries(operation.responses).map(([status, response]) => [
        Number(status),
        compile(response.content?.['application/json'].schema),
      ]),
    ),
  })),
)
const errorCheck = compile(document.components.schemas.ErrorResponse)

/** Asserts that a reply has a status, headers and a body that the OpenAPI document describes. */
export function checkReply(method: string, path: string, reply: Reply): void {
  const bare = path.split('?', 1)[0] ?? ''
  const fixed = bare in document.paths
  const found = operations.find(
    (candidate) =>
      candidate.method === method &&
      (fixed ? candidate.path === bare : candidate.pattern.test(bare)),
  )
  const exchange = `${method} ${bare} answered ${reply.status} ${reply.text}`
  // A reply to HEAD has no body.
  if (method === 'HEAD') return
  if (reply.status >= 400) assert.ok(errorCheck?.(reply.body), `Not the error shape: ${exchange}`)
  if (found === undefined) return
  const { headers = {} } = found.operation.responses[reply.status] ?? {}
  for (const name of ['RateLimit', 'RateLimit-Policy', 'Retry-After'])
    assert.ok(
      !(name.toLowerCase() in reply.headers) || name in headers,
      `Undocumented ${name}: ${exchange}`,
    )
  assert.ok(found.checks.has(reply.status), `Undocumented status: ${exchange}`)
  const check = found.checks.get(reply.status)
  if (check) assert.ok(check(reply.body), `Not the documented shape: ${exchange}`)
  const hasCompletionSecret = COMPLETION_SECRET_ANYWHERE.test(reply.text)
  assert.equal(
    hasCompletionSecret,
    CREATES.includes(found.operation.operationId) && reply.status === 201,
    `Only a create may return the completion secret: ${exchange}`,
  )
}

/** The calls whose response has completion secrets. */
export const CREATES: readonly string[] = ['createSession', 'createQuorum']

const COMPLETION_SECRET_ANYWHERE = new RegExp(
  COMPLETION_SECRET.source.replace('^', '').replace('$', ''),
)

function compile(schema: object | undefined): ((body: unknown) => boolean) | undefined {
  if (schema === undefined) return undefined
  const validator = Compile(closed(resolved(schema)) as never)
  return (body) => validator.Check(body)
}

/** The document permits further members to later versions. This version sends none. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const members = Object.entries(schema).map(([keyword, value]) => [keyword, closed(value)])
  const isObject = 'type' in schema && [schema.type].flat().includes('object')
  return {
    ...(isObject && 'properties' in schema ? { additionalProperties: false } : {}),
    ...Object.fromEntries(members),
  }
}

/** Replaces references by the schemas that they name. */
export function resolved(schema: object): object {
  if ('anyOf' in schema)
    return { ...schema, anyOf: (schema.anyOf as readonly object[]).map(resolved) }
  return '$ref' in schema
    ? (document.components.schemas[String(schema.$ref).split('/').at(-1) ?? ''] ??
        assert.fail(String(schema.$ref)))
    : schema
}
