import assert from 'node:assert/strict'
import { test } from 'node:test'
import { policyOf } from '../../src/domain/policy.ts'
import { newSession } from '../../src/domain/new-session.ts'
import { endedAt, hasBond, showsCode } from '../../src/protocol/states.ts'
import { CREATED_AT, sessionWith } from '../records.ts'

test('a new session shows its code from its creation until its lifetime has passed', () => {
  const session = sessionWith()
  assert.deepEqual([session.state, session.hint, session.seq], ['pending', 'waiting_for_scan', 1])
  assert.equal(showsCode(session, CREATED_AT), true)
  assert.equal(showsCode(session, session.expiresAt - 1), true)
  assert.equal(showsCode(session, session.expiresAt), false)
})

test('its lifetimes are those of the policy at its creation', () => {
  const policy = policyOf({
    name: 'wire',
    actions: ['send'],
    session_ttl_seconds: 61,
    challenge_ttl_seconds: 7,
    bonded_ttl_seconds: 13,
  })
  const session = newSession({ ...sessionWith(), policy })
  assert.equal(session.expiresAt, CREATED_AT + 61_000)
  assert.deepEqual(
    [session.sessionTtlMs, session.challengeTtlMs, session.bondedTtlMs],
    [61_000, 7_000, 13_000],
  )
})

test('nothing of a phone, a browser, a bond or an end is known, whatever it is made from', () => {
  const session = newSession(
    sessionWith({
      state: 'bonded',
      seq: 9,
      deviceId: 'dev_1' as never,
      claimedNonce: 'nonce',
      validAssertions: 2,
      subjectRef: 'user',
      verification: {} as never,
      bondDigest: 'digest',
      requestingOrigin: 'https://bank.example',
      browserProof: { commitment: 'commitment' },
      bondedAt: CREATED_AT,
      endedAt: CREATED_AT,
      receiptDueAt: CREATED_AT,
    }),
  )
  assert.deepEqual(session, sessionWith())
  assert.equal(hasBond(session), false)
  assert.equal(endedAt(session, CREATED_AT), null)
})
