import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import type { SessionId, TenantId } from '@bonded/contract'
import { KnownCallers, MAX_ENTRIES } from '../../../src/http/shedding/known-callers.ts'

const tenantId = 'ten_a' as TenantId
const sessionId = `sess_${'s'.repeat(22)}` as SessionId
const SECRET = 'z'.repeat(43)
const TOKEN = `dt_0123456789_${SECRET}`
const digest = (credential: string) => hash('sha256', credential, 'buffer')

const knownCallers = () => new KnownCallers({ digest })
const tenantOf = (known: KnownCallers, credential: string) =>
  known.ofCredential(`Bearer ${credential}`)?.tenant

test('recognizes a credential by its whole secret and a session by its id', () => {
  const known = knownCallers()
  const credential = `sk_beta_0123456789_${SECRET}000000`
  known.learn({ authorization: `Bearer ${credential}`, sessionId, tenantId })
  assert.equal(tenantOf(known, credential), tenantId)
  assert.equal(tenantOf(known, `sk_beta_0123456789_${'y'.repeat(43)}000000`), undefined)
  assert.equal(known.ofCredential(undefined), undefined)
  assert.equal(known.tenantOf(sessionId), tenantId)
})

test('names the holder of a credential without its secret', () => {
  const known = knownCallers()
  known.learn({ authorization: `Bearer ${TOKEN}`, sessionId: undefined, tenantId })
  const holder = known.ofCredential(`Bearer ${TOKEN}`)?.holder ?? ''
  assert.ok(holder.length > 0)
  assert.ok(!holder.includes(SECRET))
})

test('does not recognize a publishable key, which every visitor has', () => {
  const known = knownCallers()
  const key = `pk_beta_${'p'.repeat(22)}`
  known.learn({ authorization: `Bearer ${key}`, sessionId, tenantId })
  assert.equal(tenantOf(known, key), undefined)
})

test('removes a credential that the service has rejected', () => {
  const known = knownCallers()
  const other = `dt_0123456789_${'y'.repeat(43)}`
  for (const credential of [TOKEN, other])
    known.learn({ authorization: `Bearer ${credential}`, sessionId: undefined, tenantId })
  known.remove(`Bearer ${TOKEN}`)
  assert.equal(tenantOf(known, TOKEN), undefined)
  assert.equal(tenantOf(known, other), tenantId)
})

test('learns the session and the phone of a change by another node', () => {
  const known = knownCallers()
  known.learnChange({ sessionId, seq: 1 })
  assert.equal(known.tenantOf(sessionId), undefined)
  known.learnChange({ sessionId, seq: 1, callers: { tenantId, tokenHash: null } })
  assert.equal(known.tenantOf(sessionId), tenantId)
  assert.equal(tenantOf(known, TOKEN), undefined)
  known.learnChange({ sessionId, seq: 2, callers: { tenantId, tokenHash: digest(TOKEN) } })
  assert.equal(tenantOf(known, TOKEN), tenantId)
})

test('removes the callers that have not returned for the longest time', () => {
  const known = knownCallers()
  const credential = (index: number) => `dt_${String(index).padStart(10, '0')}_${SECRET}`
  const learn = (index: number) =>
    known.learn({ authorization: `Bearer ${credential(index)}`, sessionId: undefined, tenantId })
  learn(0)
  for (let index = 1; index <= 2 * MAX_ENTRIES; index++) {
    learn(index)
    if (index % (MAX_ENTRIES / 8) === 0) learn(0)
  }
  assert.equal(tenantOf(known, credential(0)), tenantId)
  assert.equal(tenantOf(known, credential(1)), undefined)
  assert.equal(tenantOf(known, credential(2 * MAX_ENTRIES)), tenantId)
})
