import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { parseStrictJson } from '@bonded/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { networksOf } from '@bonded/core/domain/network'
import type { Rejection } from '@bonded/core/domain/rejection'
import type { RouteName } from '@bonded/core/ports/meter'
import { bodyBudget } from './body-budget.ts'
import { bodyReader } from './body-reader.ts'
import { clientAddress, type TrustedProxies } from '../connection/client-address.ts'
import { sendContinue } from '../response/expectations.ts'
import { Rejected } from '../response/rejected.ts'
import { tickThrottle } from './tick-throttle.ts'

/** Each waiting body takes about 2 ms to parse, so the last one waits for half a second. */
const MAX_WAITING = 256
/** Parsing and validating a body of this size takes longer than handling any other request. */
const LARGE_BODY_BYTES = 16 * 1024
/** How often the service checks for slow bodies. */
const CUT_SLOW_EVERY_MS = 500

/**
 * Small bodies that also wait for their turn, because verifying them takes long. A passport is
 * recognized by its member's name before parsing. A client that writes the name with escapes only
 * skips the wait. Other evidence does not wait, so that the writes of one turn share a commit.
 */
const SLOW_TO_VERIFY: Partial<Record<RouteName, (body: Buffer) => boolean>> = {
  registerDevice: () => true,
  fetchEvidence: (body) => body.includes('"passport"'),
}

/**
 * Installs the only body parser: strict JSON in UTF-8, within the endpoint's limit and a budget of
 * `budgetBytes` for all bodies in flight. It rejects any other content type before it reads a byte.
 */
export function acceptStrictJson(
  app: FastifyInstance,
  { trustedProxies, budgetBytes }: { trustedProxies: TrustedProxies; budgetBytes: number },
): void {
  const takeTurn = tickThrottle({ maxWaiting: MAX_WAITING })
  const reader = bodyReader(bodyBudget(budgetBytes))
  // After a pause of the process, the timer fires before the bytes of the meantime are read. The
  // check runs after them, so a body that arrived during the pause is not slow.
  const cutting = setInterval(() => setImmediate(reader.cutSlow), CUT_SLOW_EVERY_MS).unref()
  app.addHook('onClose', (_app, done) => {
    clearInterval(cutting)
    done()
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', (request, message: IncomingMessage, done) => {
    if (!isJsonInUtf8(request.headers['content-type'] ?? ''))
      return done(new Rejected({ reason: 'unsupported_media_type' }))
    sendContinue(request.raw)
    reader.read(message, {
      limitBytes: request.routeOptions.bodyLimit ?? 0,
      network: widestNetwork(clientAddress(request.raw, trustedProxies)),
      done(result) {
        if ('failure' in result) return done(rejectedFor(result.failure))
        const { bytes, release } = result
        const parse = () => {
          const parsed = readStrictJson(bytes)
          release()
          if ('rejection' in parsed) done(new Rejected(parsed.rejection))
          else done(null, parsed.value)
        }
        if (!mustWait(request, bytes)) return parse()
        if (takeTurn(parse)) return
        release()
        done(new Rejected({ reason: 'overloaded', step: 'large_bodies_waiting' }))
      },
    })
  })
}

function mustWait({ routeOptions }: FastifyRequest, body: Buffer): boolean {
  const { routeName } = routeOptions.config
  return (
    body.length >= LARGE_BODY_BYTES ||
    (routeName !== undefined && SLOW_TO_VERIFY[routeName]?.(body) === true)
  )
}

/** The key for the body budget. One IPv6 subscriber can use thousands of narrower networks. */
function widestNetwork(address: string): string {
  return networksOf(address).at(-1)?.key ?? address
}

/** An aborted upload is not a failure of the service, so it is logged as a malformed request. */
function rejectedFor(failure: 'aborted' | Rejection): Rejected {
  return new Rejected(
    failure === 'aborted' ? { reason: 'malformed_request', step: 'aborted_by_client' } : failure,
  )
}

function readStrictJson(
  body: Buffer,
): { readonly value: unknown } | { readonly rejection: Rejection } {
  // A call without a body may still name a content type.
  if (body.length === 0) return { value: undefined }
  if (!isUtf8(body)) return { rejection: { reason: 'invalid_utf8' } }
  const result = parseStrictJson(body.toString('utf8'))
  if ('value' in result) return result
  return {
    rejection: {
      reason: result.problem,
      ...(result.member === undefined ? {} : { param: result.member.slice(0, 64) }),
    },
  }
}

function isJsonInUtf8(contentType: string): boolean {
  return /^application\/json *(; *charset=("?)utf-8\2 *)?$/i.test(contentType)
}
