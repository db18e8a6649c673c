import assert from 'node:assert/strict'
import { USUAL_LIMITS } from '../../../core/src/domain/limits.ts'
import { type Harness, harness, type Reply } from '../../../../tests/harness/harness.ts'

/** Starts a service with the default limits. */
export const limited = (options: Parameters<typeof harness>[0] = {}) =>
  harness({ limits: USUAL_LIMITS, ...options })
export const REQUEST = { workflow: 'credit_application' }

/** Makes calls one after another, and returns how many were not rate limited. */
export async function countUnlimited(
  calls: number,
  call: (index: number) => Promise<Reply>,
): Promise<number> {
  let unlimited = 0
  for (let index = 0; index < calls; index++)
    unlimited += (await call(index)).status === 429 ? 0 : 1
  return unlimited
}

/** Asserts that a reply is a rejection by the limit, with its headers. */
export function assertLimited(reply: Reply, name: string, retryAfterSeconds: number): void {
  assert.deepEqual(
    [reply.status, reply.body.error.code, reply.body.error.reason],
    [429, 'rate_limited', 'rate_limited'],
    reply.text,
  )
  assert.equal(reply.headers['retry-after'], String(retryAfterSeconds))
  assert.match(String(reply.headers.ratelimit), new RegExp(`"${name}";r=0;t=${retryAfterSeconds}$`))
  assert.match(String(reply.headers['ratelimit-policy']), new RegExp(`"${name}";q=\\d+`))
}

/** Creates a session with the tenant's server credential. */
export const post = (h: Harness, keys = h.shop, body: object = REQUEST) =>
  h.api('POST', '/sessions', { token: keys.server, body })
