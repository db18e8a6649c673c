import assert from 'node:assert/strict'
import { COMPLETION_SECRET } from '@bonded/contract'
import { Compile } from 'typebox/schema'
import { openApiDocument } from '../../src/http/openapi.ts'
import type { Reply } from './harness.ts'

interface Operation {
  readonly operationId: string
  readonly description?: string
  readonly requestBody?: { content?: { 'application/json': { schema: object } } }
  readonly responses: Readonly<
    Record<string, { headers?: object; content?: { 'application/json': { schema: object } } }>
  >
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

/** The published document, as a client would load it. */
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

/** Holds a recorded reply to the published document: a known status, and a body of its shape. */
export function checkReply(method: string, path: string, reply: Reply): void {
  const bare = path.split('?', 1)[0] ?? ''
  const fixed = bare in document.paths
  const found = operations.find(
    (candidate) =>
      candidate.method === method &&
      (fixed ? candidate.path === bare : candidate.pattern.test(bare)),
  )
  const told = `${method} ${bare} answered ${reply.status} ${reply.text}`
  // An answer to HEAD has the status and the headers, and no body.
  if (method === 'HEAD') return
  if (reply.status >= 400) assert.ok(errorCheck?.(reply.body), `not the error shape: ${told}`)
  if (found === undefined) return
  const { headers = {} } = found.operation.responses[reply.status] ?? {}
  for (const name of ['RateLimit', 'RateLimit-Policy', 'Retry-After'])
    assert.ok(
      !(name.toLowerCase() in reply.headers) || name in headers,
      `an undocumented ${name}: ${told}`,
    )
  assert.ok(found.checks.has(reply.status), `an undocumented status: ${told}`)
  const check = found.checks.get(reply.status)
  if (check) assert.ok(check(reply.body), `not the documented shape: ${told}`)
  const secretIsHere = COMPLETION_SECRET_ANYWHERE.test(reply.text)
  assert.equal(
    secretIsHere,
    found.operation.operationId === 'createSession' && reply.status === 201,
    `the completion secret: ${told}`,
  )
}

const COMPLETION_SECRET_ANYWHERE = new RegExp(
  COMPLETION_SECRET.source.replace('^', '').replace('$', ''),
)

function compile(schema: object | undefined): ((body: unknown) => boolean) | undefined {
  if (schema === undefined) return undefined
  const validator = Compile(resolved(schema) as never)
  return (body) => validator.Check(body)
}

/** With what it names in the place of the name. */
export function resolved(schema: object): object {
  if ('anyOf' in schema)
    return { ...schema, anyOf: (schema.anyOf as readonly object[]).map(resolved) }
  return '$ref' in schema
    ? (document.components.schemas[String(schema.$ref).split('/').at(-1) ?? ''] ??
        assert.fail(String(schema.$ref)))
    : schema
}
