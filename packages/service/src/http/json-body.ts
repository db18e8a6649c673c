import { isUtf8 } from 'node:buffer'
import { parseStrictJson } from '@bonded/contract'
import type { FastifyInstance } from 'fastify'
import { Refused } from './refused.ts'

/**
 * The one body parser: JSON in UTF-8, read strictly. Every other content type is refused before a byte is read.
 */
export function acceptStrictJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (!isJsonInUtf8(request.headers['content-type'] ?? '')) return done(new Refused({ reason: 'unsupported_media_type' }), undefined)
    // A body-less call that names a content type all the same.
    if (body.length === 0) return done(null, undefined)
    if (!isUtf8(body as Buffer)) return done(new Refused({ reason: 'invalid_utf8' }), undefined)
    const result = parseStrictJson(body.toString('utf8'))
    if ('value' in result) return done(null, result.value)
    done(new Refused({ reason: result.problem, ...(result.member === undefined ? {} : { param: result.member.slice(0, 64) }) }), undefined)
  })
}

function isJsonInUtf8(contentType: string): boolean {
  return /^application\/json *(; *charset=("?)utf-8\2 *)?$/i.test(contentType)
}
