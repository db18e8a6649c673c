import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENDPOINTS } from '@bonded/contract'
import { AUDITED_ENDPOINTS } from '../../src/http/audited-endpoints.ts'

test('the calls that change users or webhooks of a tenant are those of the audit log', () => {
  const changing = Object.entries(AUDITED_ENDPOINTS).flatMap(([name, auditClass]) =>
    auditClass === 'changes' ? [name] : [],
  )
  assert.deepEqual(changing.toSorted(), [
    'blockSubject',
    'createWebhookEndpoint',
    'deleteWebhookEndpoint',
    'rotateWebhookSecret',
    'unblockSubject',
    'updateWebhookEndpoint',
  ])
})

test('every endpoint that can change something says whether the audit log has its calls', () => {
  const changing = Object.entries(ENDPOINTS).flatMap(([name, { method }]) =>
    (method as string) === 'GET' ? [] : [name],
  )
  assert.deepEqual(Object.keys(AUDITED_ENDPOINTS).toSorted(), changing.toSorted())
})
