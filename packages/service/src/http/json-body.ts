import { isUtf8 } from 'node:buffer'
import { parseStrictJson } from '@bonded/contract'
import type { FastifyInstance } from 'fastify'
import type { Refusal } from '../domain/refusal.ts'
import type { RouteName } from '../ports/meter.ts'
import { tickThrottle } from './tick-throttle.ts'
import { Refused } from './refused.ts'

/** A body of 256 KiB each: 64 MiB. Each takes a turn of some 2 ms, so who waits last waits half a second. */
const MAX_WAITING = 256

/** Thrice the usual. */
const LONG_EVIDENCE_BYTES = 16 * 1024

/**
 * Which bodies wait for their turn: those that are long work from here on. The usual evidence is not, and the writes of
 * one turn share a commit. A passport is named by its member before anything is parsed; who spells that otherwise only
 * does not wait.
 */
const WAITS: Partial<Record<RouteName, (body: Buffer) => boolean>> = {
  registerDevice: () => true,
  fetchEvidence: (body) => body.length >= LONG_EVIDENCE_BYTES || body.includes('"passport"'),
}
/** The one body parser: JSON in UTF-8, read strictly. Every other content type is refused before a byte is read. */
export function acceptStrictJson(app: FastifyInstance): void {
  const takeTurn = tickThrottle({ maxWaiting: MAX_WAITING })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const read = () => {
      const result = readStrictJson(request.headers['content-type'] ?? '', body as Buffer)
      if ('refusal' in result) done(new Refused(result.refusal), undefined)
      else done(null, result.value)
    }
    const { routeName } = request.routeOptions.config
    const waits = routeName && WAITS[routeName]?.(body as Buffer)
    if (waits !== true) read()
    else if (!takeTurn(read))
      done(new Refused({ reason: 'overloaded', step: 'large_bodies_waiting' }), undefined)
  })
}

function readStrictJson(
  contentType: string,
  body: Buffer,
): { readonly value: unknown } | { readonly refusal: Refusal } {
  if (!isJsonInUtf8(contentType)) return { refusal: { reason: 'unsupported_media_type' } }
  // A body-less call that names a content type all the same.
  if (body.length === 0) return { value: undefined }
  if (!isUtf8(body)) return { refusal: { reason: 'invalid_utf8' } }
  const result = parseStrictJson(body.toString('utf8'))
  if ('value' in result) return result
  return {
    refusal: {
      reason: result.problem,
      ...(result.member === undefined ? {} : { param: result.member.slice(0, 64) }),
    },
  }
}

function isJsonInUtf8(contentType: string): boolean {
  return /^application\/json *(; *charset=("?)utf-8\2 *)?$/i.test(contentType)
}
