import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionId, TenantId } from '@bonded/contract'
import { KnownCallers, MAX_ENTRIES } from '../../../src/http/shedding/known-callers.ts'

const tenantId = 'ten_a' as TenantId
const sessionId = `sess_${'s'.repeat(22)}` as SessionId
const SECRET = 'z'.repeat(43)

test('recognizes a credential by its id and a session by its own', () => {
  const known = new KnownCallers()
  const authorization = `Bearer sk_beta_0123456789_${SECRET}000000`
  known.learn({ authorization, sessionId, tenantId })
  assert.equal(known.ofCredential(authorization), tenantId)
  assert.equal(known.ofCredential('Bearer sk_beta_other56789_'), undefined)
  assert.equal(known.ofCredential(undefined), undefined)
  assert.equal(known.ofSession(sessionId), tenantId)
})

test('does not mistake one kind of credential for another', () => {
  const known = new KnownCallers()
  const token = `Bearer dt_0123456789_${SECRET}`
  known.learn({ authorization: token, sessionId: undefined, tenantId })
  assert.equal(known.ofCredential(token), tenantId)
  assert.equal(known.ofCredential(`Bearer sk_beta_0123456789_${SECRET}`), undefined)
})

test('learns the session and the phone of a change by another node', () => {
  const known = new KnownCallers()
  const phone = `Bearer dt_0123456789_${SECRET}`
  known.learnChange({ sessionId, seq: 1 })
  assert.equal(known.ofSession(sessionId), undefined)
  known.learnChange({ sessionId, seq: 1, callers: { tenantId, tokenId: null } })
  assert.equal(known.ofSession(sessionId), tenantId)
  assert.equal(known.ofCredential(phone), undefined)
  known.learnChange({ sessionId, seq: 2, callers: { tenantId, tokenId: '0123456789' } })
  assert.equal(known.ofCredential(phone), tenantId)
})

test('removes the callers that have not returned for the longest time', () => {
  const known = new KnownCallers()
  const credential = (index: number) => `Bearer sk_beta_${String(index).padStart(10, '0')}_`
  const learn = (index: number) =>
    known.learn({ authorization: credential(index), sessionId: undefined, tenantId })
  learn(0)
  for (let index = 1; index <= 2 * MAX_ENTRIES; index++) {
    learn(index)
    if (index % (MAX_ENTRIES / 8) === 0) learn(0)
  }
  assert.equal(known.ofCredential(credential(0)), tenantId)
  assert.equal(known.ofCredential(credential(1)), undefined)
  assert.equal(known.ofCredential(credential(2 * MAX_ENTRIES)), tenantId)
})
