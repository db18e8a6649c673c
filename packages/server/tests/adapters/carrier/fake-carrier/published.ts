import { parse } from 'yaml'
import { readVector } from '../../../../../contract/tests/vectors.ts'
import type { Operation } from './operations.ts'

type Json = Readonly<Record<string, unknown>>

const ANNOTATIONS = ['title', 'description', 'example', 'examples']

/** The operations of the published files, and the correlators that they accept. */
export function publishedOperations() {
  const documents = ['number-verification', 'sim-swap', 'device-reachability-status'].map(
    (file) => parse(readVector('camara', `${file}.yaml`).toString('utf8')) as Json,
  )
  const operations = documents.flatMap((document) => {
    const base = String(at(document, 'servers', '0', 'url')).replace('{apiRoot}', '')
    return Object.entries(document.paths as Json).flatMap(([path, methods]) => {
      const { post } = methods as { post?: Json }
      return post ? [[base + path, operationOf(document, post)] as const] : []
    })
  })
  return {
    operations: Object.fromEntries(operations),
    correlators: documents.map((document) =>
      resolved(document, { $ref: '#/components/schemas/XCorrelator' }),
    ),
  }
}

function operationOf(document: Json, operation: Json): Operation {
  const schemaOf = (holder: unknown) =>
    at(resolved(document, holder), 'content', 'application/json', 'schema') as Json
  return {
    scopes: (operation.security as { openId: string[] }[]).flatMap(({ openId }) => openId),
    request: schemaOf(operation.requestBody),
    responses: Object.fromEntries(
      Object.entries(operation.responses as Json).map(([status, response]) => [
        status,
        schemaOf(response),
      ]),
    ),
  }
}

/** Resolves references, converts OpenAPI 3.0's `nullable`, and leaves out annotations. */
function resolved(document: Json, node: unknown): unknown {
  if (Array.isArray(node)) return node.map((item) => resolved(document, item))
  if (typeof node !== 'object' || node === null) return node
  if ('$ref' in node)
    return resolved(document, at(document, ...String(node.$ref).replace('#/', '').split('/')))
  const { nullable, ...rest } = Object.fromEntries(
    Object.entries(node)
      .filter(([name, value]) => !ANNOTATIONS.includes(name) || isProperty(value))
      .map(([name, value]) => [name, resolved(document, value)]),
  )
  return nullable === true ? { anyOf: [rest, { type: 'null' }] } : rest
}

/** A property may have the name of an annotation. */
function isProperty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'type' in value
}

function at(node: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => (inner as Json)[name], node)
}
