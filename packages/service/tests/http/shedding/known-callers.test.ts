import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionId, TenantId } from '@bonded/contract'
import { KnownCallers } from '../../../src/http/shedding/known-callers.ts'

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
