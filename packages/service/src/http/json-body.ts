import { isUtf8 } from 'node:buffer'
import { parseStrictJson } from '@bonded/contract'
import type { FastifyInstance } from 'fastify'
import type { Refusal } from '../domain/refusal.ts'
import type { RouteName } from '../ports/meter.ts'
import { oneATurn } from './one-a-turn.ts'
import { Refused } from './refused.ts'

/** A body of 256 KiB each: 64 MiB. Each takes a turn of some 2 ms, so who waits last waits half a second. */
const MAX_WAITING = 256

/**
 * From how many bytes on a body waits for its turn: what is long work from here on. The usual evidence, 6 KB, is not, and
 * those of one turn share a commit; evidence that brings a passport, 8 KB at least, is.
 */
const WAITS_FROM_BYTES: Partial<Record<RouteName, number>> = { registerDevice: 0, fetchEvidence: 7 * 1024 }

/** The one body parser: JSON in UTF-8, read strictly. Every other content type is refused before a byte is read. */
export function acceptStrictJson(app: FastifyInstance): void {
  const takeTurn = oneATurn({ maxWaiting: MAX_WAITING })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const read = () => {
      const result = readStrictJson(request.headers['content-type'] ?? '', body as Buffer)
      if ('refusal' in result) done(new Refused(result.refusal), undefined)
      else done(null, result.value)
    }
    const { routeName } = request.routeOptions.config
    const waitsFrom = (routeName && WAITS_FROM_BYTES[routeName]) ?? Number.POSITIVE_INFINITY
    if (body.length < waitsFrom) read()
    else if (!takeTurn(read)) done(new Refused({ reason: 'overloaded', step: 'large_bodies_waiting' }), undefined)
  })
}

function readStrictJson(contentType: string, body: Buffer): { readonly value: unknown } | { readonly refusal: Refusal } {
  if (!isJsonInUtf8(contentType)) return { refusal: { reason: 'unsupported_media_type' } }
  // A body-less call that names a content type all the same.
  if (body.length === 0) return { value: undefined }
  if (!isUtf8(body)) return { refusal: { reason: 'invalid_utf8' } }
  const result = parseStrictJson(body.toString('utf8'))
  if ('value' in result) return result
  return { refusal: { reason: result.problem, ...(result.member === undefined ? {} : { param: result.member.slice(0, 64) }) } }
}

function isJsonInUtf8(contentType: string): boolean {
  return /^application\/json *(; *charset=("?)utf-8\2 *)?$/i.test(contentType)
}
