import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as contract from '@bonded/contract'
import { type Endpoint, ENDPOINTS, type Route } from '@bonded/contract'

/**
 * What the OpenAPI document does not say of an endpoint: how a client repeats it (protocol 2), what
 * it is worth during an overload, whose pages may call it (protocol 4), and how long its body may
 * be (protocol 1).
 */
type Facts = readonly [retry: string, priority: string, flags?: string, bodyBytes?: number]

const KIB = 1024

const FACTS: Readonly<Record<string, Facts>> = {
  'POST /api/v1/sessions': ['repeat', 'new', '', 96 * KIB],
  'GET /api/v1/sessions/{session_id}': ['repeat', 'backend begun, phone begun, other new'],
  'GET /api/v1/sessions/{session_id}/invitation': ['repeat', 'new', 'own'],
  'DELETE /api/v1/sessions/{session_id}': ['reread', 'begun'],
  'POST /api/v1/sessions/{session_id}/cancel': ['repeat', 'begun'],
  'POST /api/v1/sessions/{session_id}/browser': ['repeat', 'begun', 'frame', 8 * KIB],
  'POST /api/v1/sessions/{session_id}/browser/frame': ['repeat', 'begun', 'frame', KIB],
  'POST /api/v1/sessions/{session_id}/form-completed': ['repeat', 'begun'],
  'GET /api/v1/sessions/{session_id}/timeline': ['repeat', 'new'],
  'GET /api/v1/sessions/{session_id}/receipt': ['repeat', 'new'],
  'POST /api/v1/sessions/{session_id}/containment': ['repeat', 'new', '', KIB],
  'GET /api/v1/publishable-key': ['repeat', 'new'],
  'POST /api/v1/sessions/{session_id}/claim': ['repeat', 'begun', '', KIB],
  'POST /api/v1/sessions/{session_id}/decline': ['reread', 'begun', '', 4 * KIB],
  'POST /api/v1/evidence': ['rebuild', 'begun', '', 128 * KIB],
  'POST /api/v1/attestations': ['reread', 'begun', 'own', 8 * KIB],
  'POST /api/v1/devices/challenges': ['repeat', 'new', 'own'],
  'POST /api/v1/devices': ['rebuild', 'new', 'own', 96 * KIB],
  'POST /api/v1/devices/recovery': ['rebuild', 'new', 'own', 8 * KIB],
  'GET /api/v1/devices': ['repeat', 'new'],
  'GET /api/v1/devices/{device_id}': ['repeat', 'new'],
  'POST /api/v1/devices/{device_id}/token': ['rebuild', 'begun', 'expired', 8 * KIB],
  'POST /api/v1/devices/{device_id}/removal': ['rebuild', 'begun', '', 8 * KIB],
  'GET /api/v1/inbox': ['repeat', 'new'],
  'POST /api/v1/inbox': ['rebuild', 'begun', '', 8 * KIB],
  'POST /api/v1/inbox/resume': ['rebuild', 'begun', '', 8 * KIB],
  'POST /api/v1/inbox/push': ['rebuild', 'begun', '', 8 * KIB],
  'POST /api/v1/quorums': ['repeat', 'new', '', 96 * KIB],
  'GET /api/v1/quorums/{quorum_id}': ['repeat', 'begun'],
  'GET /api/v1/subjects/{subject_ref}/devices': ['repeat', 'new', 'own'],
  'POST /api/v1/subjects/{subject_ref}/block': ['repeat', 'begun', 'own'],
  'POST /api/v1/subjects/{subject_ref}/unblock': ['repeat', 'begun', 'own'],
  'GET /api/v1/rejections': ['repeat', 'new', 'own'],
  'GET /api/v1/webhook-endpoints': ['repeat', 'new', 'own'],
  'POST /api/v1/webhook-endpoints': ['rebuild', 'new', 'own', 16 * KIB],
  'POST /api/v1/webhook-endpoints/{endpoint_id}': ['repeat', 'new', 'own', 16 * KIB],
  'DELETE /api/v1/webhook-endpoints/{endpoint_id}': ['reread', 'new', 'own'],
  'POST /api/v1/webhook-endpoints/{endpoint_id}/secret': ['rebuild', 'new', 'own'],
  'POST /api/v1/webhook-endpoints/{endpoint_id}/test': ['repeat', 'new', 'own'],
  'POST /api/v1/webhook-endpoints/{endpoint_id}/recovery': ['repeat', 'new', 'own', KIB],
  'GET /api/v1/webhook-deliveries': ['repeat', 'new', 'own'],
  'GET /api/v1/webhook-deliveries/{event_id}': ['repeat', 'new', 'own'],
  'POST /api/v1/webhook-deliveries/{event_id}/retry': ['repeat', 'new', 'own', KIB],
  'POST /api/v1/webhook-portal': ['repeat', 'new', 'own'],
  'GET /api/v1/openapi.json': ['repeat', 'new'],
  'GET /health/alive': ['repeat', 'exempt'],
  'GET /health/ready': ['repeat', 'exempt'],
  'GET /version': ['repeat', 'new'],
}

function factsOf(endpoint: Endpoint): Facts {
  const { retry, priority, body, ownOriginOnly, serviceFrame, acceptsExpiredToken } = endpoint
  const flags = [
    ...(ownOriginOnly ? ['own'] : []),
    ...(serviceFrame ? ['frame'] : []),
    ...(acceptsExpiredToken ? ['expired'] : []),
  ].join(' ')
  const worth =
    typeof priority === 'string'
      ? priority
      : Object.entries(priority)
          .map(([by, one]) => `${by} ${one}`)
          .join(', ')
  if (body !== undefined) return [retry, worth, flags, body.limitBytes]
  return flags === '' ? [retry, worth] : [retry, worth, flags]
}

test('every endpoint has its rule of retries, its worth, its pages, and the limit of its body', () => {
  const found = Object.fromEntries(
    Object.values<Endpoint>(ENDPOINTS).map((one) => [`${one.method} ${one.path}`, factsOf(one)]),
  )
  assert.deepEqual(found, FACTS)
})

test('a body without members may have 1 KiB', () => {
  assert.equal(contract.BODY_LIMITS.none, KIB)
})

test('every route of the clients is its endpoint: method, path, status and rule of retries', () => {
  const routes = contract as unknown as Readonly<Record<string, Route>>
  for (const [name, { method, path, status, retry }] of Object.entries<Endpoint>(ENDPOINTS)) {
    const constant = name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
    assert.deepEqual(routes[constant], { method, path, status, retry }, constant)
  }
})

test('every problem of readiness has its sentence', () => {
  assert.deepEqual(contract.UNREADINESS, {
    store_unreadable: 'The database cannot be read.',
    store_unwritable:
      'The last transaction could not be written: the database is locked or read-only, or its disk fails.',
    migrations_pending: 'A schema migration of this version is not applied.',
    migrations_unknown: 'A newer version has migrated the database.',
    disk_full: 'The disk of the database is full or nearly full.',
    keys_unknown: 'Another node creates sessions with a root key that this node does not have.',
    draining: 'The service is shutting down. It completes the open requests.',
    clock_behind: 'The clock is more than 1 s behind the latest stored session.',
  })
})

test('the words of the wire are those of the protocol', () => {
  const {
    AFTER_PREFIX,
    BROWSER_SECRET_HEADER,
    CHANNEL_PROTOCOL,
    CLOSE,
    COMPLETION_SECRET_HEADER,
    CONTEXT_DIGEST_HEADER,
    KEY_PREFIX,
    NONCE_HEADER,
    OUTCOME_HEADER,
    RECONNECT_PREFIX,
    WATCH_HEADER,
    WATCH_PARAMETER,
    WATCH_PREFIX,
  } = contract
  assert.deepEqual(
    [CHANNEL_PROTOCOL, WATCH_PREFIX, KEY_PREFIX, AFTER_PREFIX, WATCH_PARAMETER],
    ['bonded.v1', 'watch.', 'key.', 'after.', 'watch_token'],
  )
  assert.deepEqual(
    [WATCH_HEADER, NONCE_HEADER, COMPLETION_SECRET_HEADER, BROWSER_SECRET_HEADER],
    ['x-bond-watch', 'x-bond-nonce', 'x-bond-completion-secret', 'x-bond-browser-secret'],
  )
  assert.deepEqual(
    [CONTEXT_DIGEST_HEADER, OUTCOME_HEADER, RECONNECT_PREFIX],
    ['x-bond-context-digest', 'x-bond-outcome', 'reconnect_in_ms='],
  )
  assert.deepEqual(CLOSE, {
    ended: 1000,
    restarting: 1012,
    badFrame: 4400,
    unauthorized: 4401,
    superseded: 4429,
  })
  assert.deepEqual(
    [contract.LONGEST_RECONNECT_MS, contract.FRAME_VERSION, contract.API_PATH],
    [30_000, 1, '/api/v1'],
  )
  assert.deepEqual(
    [contract.REASONS_PATH, contract.docUrlOf('session_not_found'), contract.RECEIPT_TYPE],
    ['/reasons', '/reasons#session_not_found', 'bonded-receipt+jwt'],
  )
})
