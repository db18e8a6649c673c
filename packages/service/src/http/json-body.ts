import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { parseStrictJson } from '@bonded/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { networksOf } from '../domain/network.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { RouteName } from '../ports/meter.ts'
import { bodyBudget } from './body-budget.ts'
import { bodyReader } from './body-reader.ts'
import { clientAddress, type TrustedProxies } from './client-address.ts'
import { askForBody } from './expectations.ts'
import { Refused } from './refused.ts'
import { tickThrottle } from './tick-throttle.ts'

/** A waiting body takes about 2 ms, so the last of them waits for half a second. */
const MAX_WAITING = 256
/** Parsing and validating this much takes longer than all other requests do. */
const LARGE_BODY_BYTES = 16 * 1024
/** How often slow bodies are looked for. */
const CUT_SLOW_EVERY_MS = 500

/**
 * Bodies below the large ones that wait for their turn all the same, because judging them is long work.
 * A passport is recognized by its member's name, before anything is parsed. A client that spells the name
 * with escapes only does not wait. The usual evidence does not: the writes of one turn share a commit.
 */
const WAITS: Partial<Record<RouteName, (body: Buffer) => boolean>> = {
  registerDevice: () => true,
  fetchEvidence: (body) => body.includes('"passport"'),
}

/**
 * Installs the one body parser: JSON in UTF-8, read strictly, within the endpoint's limit and within a
 * budget of `budgetBytes` for all bodies in flight. Any other content type is rejected before a byte is read.
 */
export function acceptStrictJson(
  app: FastifyInstance,
  { trustedProxies, budgetBytes }: { trustedProxies: TrustedProxies; budgetBytes: number },
): void {
  const takeTurn = tickThrottle({ maxWaiting: MAX_WAITING })
  const reader = bodyReader(bodyBudget(budgetBytes))
  const cutting = setInterval(reader.cutSlow, CUT_SLOW_EVERY_MS).unref()
  app.addHook('onClose', (_app, done) => {
    clearInterval(cutting)
    done()
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', (request, message: IncomingMessage, done) => {
    if (!isJsonInUtf8(request.headers['content-type'] ?? ''))
      return done(new Refused({ reason: 'unsupported_media_type' }))
    askForBody(request.raw)
    reader.read(message, {
      limitBytes: request.routeOptions.bodyLimit ?? 0,
      network: widestNetwork(clientAddress(request.raw, trustedProxies)),
      done(result) {
        if ('failure' in result) return done(refusedFor(result.failure))
        const { bytes, release } = result
        const parse = () => {
          const parsed = readStrictJson(bytes)
          release()
          if ('refusal' in parsed) done(new Refused(parsed.refusal))
          else done(null, parsed.value)
        }
        if (!waits(request, bytes)) return parse()
        if (takeTurn(parse)) return
        release()
        done(new Refused({ reason: 'overloaded', step: 'large_bodies_waiting' }))
      },
    })
  })
}

function waits({ routeOptions }: FastifyRequest, body: Buffer): boolean {
  const { routeName } = routeOptions.config
  return (
    body.length >= LARGE_BODY_BYTES ||
    (routeName !== undefined && WAITS[routeName]?.(body) === true)
  )
}

/** What an address shares a part of the budget with: an IPv6 customer can have thousands of narrower networks. */
function widestNetwork(address: string): string {
  return networksOf(address).at(-1)?.key ?? address
}

/** A client that went away is no failure of the service: the request is logged as one that broke off. */
function refusedFor(failure: 'aborted' | Refusal): Refused {
  return new Refused(
    failure === 'aborted' ? { reason: 'malformed_request', step: 'aborted_by_client' } : failure,
  )
}

function readStrictJson(body: Buffer): { readonly value: unknown } | { readonly refusal: Refusal } {
  // A call without a body that names a content type all the same.
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
