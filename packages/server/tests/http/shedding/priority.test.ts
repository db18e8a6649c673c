import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENDPOINTS, type Endpoint, type EndpointName } from '@bonded/contract'
import { classify } from '../../../src/http/shedding/priority.ts'

const CREDENTIALS = {
  backend: `Bearer sk_beta_${'a'.repeat(59)}`,
  browser: `Bearer pk_beta_${'a'.repeat(22)}`,
  phone: `Bearer dt_${'a'.repeat(54)}`,
}
const session_id = `sess_${'a'.repeat(22)}`

const priorityOf = (request: { method: string; url: string; authorization?: string }) =>
  classify({
    method: request.method,
    url: request.url,
    headers: request.authorization === undefined ? {} : { authorization: request.authorization },
  }).priority

test('recognizes every endpoint of the table by its method and path, with and without a query', () => {
  for (const [name, endpoint] of Object.entries(ENDPOINTS) as [EndpointName, Endpoint][]) {
    const url = endpoint.path.replaceAll(/\{\w+\}/g, session_id)
    for (const query of ['', '?wait_ms=1'])
      assert.equal(
        classify({ method: endpoint.method, url: url + query, headers: {} }).endpoint,
        name,
      )
  }
})

test('takes no longer path for one of the table', () => {
  for (const path of ['browser/x', 'browser/frame/x', 'cancel/x'])
    assert.equal(
      classify({ method: 'POST', url: `/api/v1/sessions/${session_id}/${path}`, headers: {} })
        .endpoint,
      undefined,
    )
})

test('ranks a read of a session by who reads it', () => {
  const url = `/api/v1/sessions/${session_id}`
  assert.equal(priorityOf({ method: 'GET', url, authorization: CREDENTIALS.backend }), 'gate')
  assert.equal(priorityOf({ method: 'GET', url, authorization: CREDENTIALS.phone }), 'attestation')
  assert.equal(priorityOf({ method: 'GET', url, authorization: CREDENTIALS.browser }), 'status')
  assert.equal(priorityOf({ method: 'GET', url }), 'status')
})

test('ranks pages, scripts, unknown paths, and other methods as status reads', () => {
  for (const url of ['/bond', '/v1/pulse.js', '/', '', '//', '/api/v1/sessions/a/b/c/d', '/%'])
    assert.equal(priorityOf({ method: 'GET', url }), 'status')
  assert.equal(priorityOf({ method: 'QUERY', url: '/api/v1/sessions' }), 'status')
})

test('ranks a preflight like the request that it precedes', () => {
  const url = `/api/v1/sessions/${session_id}/cancel`
  const headers = { 'access-control-request-method': 'POST', origin: 'https://shop.example' }
  assert.equal(classify({ method: 'OPTIONS', url, headers }).priority, 'attestation')
})

test('exempts the health checks', () => {
  for (const url of ['/health/ready', '/health/alive'])
    assert.equal(priorityOf({ method: 'GET', url }), 'exempt')
})

/** All endpoints that rank as status reads. Rank a new one in `priority.ts`, or name it here. */
const LAST: readonly EndpointName[] = [
  'readTimeline',
  'readReceipt',
  'reportContainment',
  'checkPublishableKey',
  'listKeys',
  'getDevice',
  'countInbox',
  'listRejections',
  'listSubjectDevices',
  'listWebhookEndpoints',
  'createWebhookEndpoint',
  'updateWebhookEndpoint',
  'deleteWebhookEndpoint',
  'rotateWebhookSecret',
  'testWebhookEndpoint',
  'recoverWebhookEndpoint',
  'listWebhookDeliveries',
  'readWebhookEvent',
  'retryWebhookEvent',
  'openWebhookPortal',
  'readOpenApi',
  'version',
]

test('ranks every endpoint above status reads, unless it is a known exception', () => {
  const last = (Object.entries(ENDPOINTS) as [EndpointName, Endpoint][])
    .filter(([, { method, path }]) => {
      const url = path.replaceAll(/\{\w+\}/g, session_id)
      return priorityOf({ method, url, authorization: CREDENTIALS.backend }) === 'status'
    })
    .map(([name]) => name)
  assert.deepEqual(last.toSorted(), LAST.toSorted())
})
