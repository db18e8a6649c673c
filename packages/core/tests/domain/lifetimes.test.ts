import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Workflow } from '@bonded/contract'
import * as lifetimes from '../../src/domain/lifetimes.ts'
import { policyOf } from '../../src/domain/policy.ts'

const { properties } = Workflow as unknown as {
  properties: Record<string, { minimum: number; maximum: number }>
}
const longest = (name: string) => (properties[name]?.maximum ?? assert.fail(name)) * 1_000

test('the default lifetimes are in the range that a workflow may set', () => {
  const policy = policyOf({ name: 'w', actions: ['a'] })
  for (const [name, ms] of [
    ['session_ttl_seconds', policy.sessionTtlMs],
    ['challenge_ttl_seconds', policy.challengeTtlMs],
    ['bonded_ttl_seconds', policy.bondedTtlMs],
  ] as const) {
    const { minimum, maximum } = properties[name] ?? assert.fail(name)
    assert.ok(ms >= minimum * 1_000 && ms <= maximum * 1_000, name)
  }
})

test('an idempotency key outlives the time in which GET returns its session', () => {
  const page = lifetimes.MAX_PAGE_SECONDS * 1_000
  for (const sessionTtlMs of [60_000, page, longest('session_ttl_seconds')]) {
    const readable =
      sessionTtlMs +
      lifetimes.BROWSER_PROOF_TTL_MS +
      longest('bonded_ttl_seconds') +
      lifetimes.READABLE_AFTER_END_MS
    const from = lifetimes.idempotencyTime({ createdAt: 0, sessionTtlMs })
    assert.ok(from + lifetimes.IDEMPOTENCY_KEY_TTL_MS > readable)
    assert.equal(from > 0, sessionTtlMs > page)
  }
})

test('a session is retained for operators for longer than GET returns it', () => {
  assert.ok(lifetimes.RETENTION_AFTER_END_MS > lifetimes.READABLE_AFTER_END_MS)
  assert.ok(lifetimes.REJECTION_RETENTION_MS > lifetimes.RETENTION_AFTER_END_MS)
})

test('a clock of a node that is ready moves no time of a request out of its range', () => {
  assert.ok(lifetimes.MAX_CLOCK_DIFFERENCE_MS < lifetimes.ISSUED_AT_MAX_AHEAD_MS)
})
