import { Compile } from 'typebox/schema'
import { parse } from 'yaml'
import { readVector } from '../../../../../contract/tests/vectors.ts'

type Json = Readonly<Record<string, unknown>>

/** One operation of a published OpenAPI file. */
export interface PublishedOperation {
  readonly scopes: readonly string[]
  /** Describes the mismatch of a request body; undefined if it is valid. */
  request(body: unknown): string | undefined
  /** The same for a response, which must be of a documented status. */
  response(status: number, body: unknown): string | undefined
  correlator(value: unknown): boolean
}

/** The operations that the fake carrier offers, by path, as the published files describe them. */
export function publishedOperations(): Readonly<Record<string, PublishedOperation>> {
  read ??= readPublished()
  return read
}
let read: Readonly<Record<string, PublishedOperation>> | undefined

function readPublished(): Readonly<Record<string, PublishedOperation>> {
  return Object.fromEntries(
    ['number-verification', 'sim-swap', 'device-reachability-status'].flatMap((file) => {
      const document = parse(readVector('camara', `${file}.yaml`).toString('utf8')) as Json
      const base = String(at(document, 'servers', '0', 'url')).replace('{apiRoot}', '')
      return Object.entries(document.paths as Json).flatMap(([path, methods]) => {
        const { post } = methods as { post?: Json }
        return post ? [[base + path, operationOf(document, post)]] : []
      })
    }),
  )
}

function operationOf(document: Json, operation: Json): PublishedOperation {
  const schemaOf = (holder: unknown) =>
    check(document, at(resolved(document, holder), 'content', 'application/json', 'schema'))
  const request = schemaOf(operation.requestBody)
  const responses = new Map(
    Object.entries(operation.responses as Json).map(([status, response]) => [
      Number(status),
      schemaOf(response),
    ]),
  )
  return {
    scopes: (operation.security as { openId: string[] }[]).flatMap(({ openId }) => openId),
    request: (body) =>
      request(body) ? undefined : `not the published request: ${JSON.stringify(body)}`,
    response(status, body) {
      const holds = responses.get(status)
      if (holds === undefined) return `an unpublished status ${status}`
      return holds(body) ? undefined : `not the published answer ${status}: ${JSON.stringify(body)}`
    },
    correlator: check(document, { $ref: '#/components/schemas/XCorrelator' }),
  }
}

function check(document: Json, schema: unknown): (value: unknown) => boolean {
  const validator = Compile(resolved(document, schema) as never)
  return (value) => validator.Check(value)
}

/** Resolves references and converts OpenAPI 3.0's `nullable` into JSON Schema. */
function resolved(document: Json, node: unknown): unknown {
  if (Array.isArray(node)) return node.map((item) => resolved(document, item))
  if (typeof node !== 'object' || node === null) return node
  if ('$ref' in node)
    return resolved(document, at(document, ...String(node.$ref).replace('#/', '').split('/')))
  const { nullable, ...rest } = Object.fromEntries(
    Object.entries(node).map(([name, value]) => [name, resolved(document, value)]),
  )
  return nullable === true ? { anyOf: [rest, { type: 'null' }] } : rest
}

function at(node: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => (inner as Json)[name], node)
}
