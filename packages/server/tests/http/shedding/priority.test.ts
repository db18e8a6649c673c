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
  assert.equal(priorityOf({ method: 'GET', url, authorization: CREDENTIALS.backend }), 'begun')
  assert.equal(priorityOf({ method: 'GET', url, authorization: CREDENTIALS.phone }), 'begun')
  assert.equal(priorityOf({ method: 'GET', url, authorization: CREDENTIALS.browser }), 'new')
  assert.equal(priorityOf({ method: 'GET', url }), 'new')
})

test('ranks pages, scripts, unknown paths, and other methods as new work', () => {
  for (const url of ['/bond', '/v1/pulse.js', '/', '', '//', '/api/v1/sessions/a/b/c/d', '/%'])
    assert.equal(priorityOf({ method: 'GET', url }), 'new')
  assert.equal(priorityOf({ method: 'QUERY', url: '/api/v1/sessions' }), 'new')
})

test('ranks a preflight like the request that it precedes', () => {
  const url = `/api/v1/sessions/${session_id}/cancel`
  const headers = { 'access-control-request-method': 'POST', origin: 'https://shop.example' }
  assert.equal(classify({ method: 'OPTIONS', url, headers }).priority, 'begun')
})

test('exempts the health checks', () => {
  for (const url of ['/health/ready', '/health/alive'])
    assert.equal(priorityOf({ method: 'GET', url }), 'exempt')
})

/** All endpoints whose calls are new work, or are repeated anyway. */
const LAST: readonly EndpointName[] = [
  'createQuorum',
  'createSession',
  'readInvitation',
  'challengeDevice',
  'registerDevice',
  'recoverDevice',
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

test('counts every call for a begun session, unless it is a known exception', () => {
  const last = (Object.entries(ENDPOINTS) as [EndpointName, Endpoint][])
    .filter(([, { method, path }]) => {
      const url = path.replaceAll(/\{\w+\}/g, session_id)
      return priorityOf({ method, url, authorization: CREDENTIALS.backend }) === 'new'
    })
    .map(([name]) => name)
  assert.deepEqual(last.toSorted(), LAST.toSorted())
})
