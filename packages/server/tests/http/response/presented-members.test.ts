import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RequestId, Secret } from '@bonded/contract'
import {
  CREATED_AT as NOW,
  DEVICE_ID,
  deviceWith,
  OTHER_DEVICE_ID,
  SUBJECT_ID,
} from '../../../../core/tests/records.ts'
import {
  presentDevice,
  presentKey,
  presentRegistered,
  presentRotatedToken,
} from '../../../src/http/response/present-device.ts'
import { presentRejections } from '../../../src/http/response/present-rejections.ts'
import { presentSubject } from '../../../src/http/response/present-subject.ts'
import {
  presentDeliveries,
  presentEndpoint,
  presentEventLog,
  presentInPortal,
  presentWithSecret,
} from '../../../src/http/response/present-webhook.ts'
import { rejectionToWire } from '../../../src/http/response/rejection-to-wire.ts'

test('a phone reads its own record, and those of the other phones of its user without their keys', () => {
  const device = deviceWith({
    status: 'suspect',
    environment: 'sandbox',
    format: 'apple-app-attest',
    keyId: 'key-7',
    addedBy: OTHER_DEVICE_ID,
    browserKey: { rpId: 'rp.example', createdAt: NOW + 1_000 } as never,
  })
  const own = {
    device_id: DEVICE_ID,
    subject_id: SUBJECT_ID,
    key_id: 'key-7',
    format: 'apple-app-attest',
    environment: 'sandbox',
  }
  const key = {
    status: 'suspect',
    created_at: '2026-11-26T12:00:00.000Z',
    last_assertion_at: null,
    browser_key: { rp_id: 'rp.example', created_at: '2026-11-26T12:00:01.000Z' },
  }
  const record = presentDevice({ device, tokenExpiresAt: NOW + 2_000, keysChangedAt: undefined })
  assert.deepEqual(record, {
    ...own,
    ...key,
    device_token_expires_at: '2026-11-26T12:00:02.000Z',
    keys_changed_at: null,
  })
  assert.deepEqual(presentKey({ device, alsoRemoves: [OTHER_DEVICE_ID] }), {
    device_id: DEVICE_ID,
    format: 'apple-app-attest',
    environment: 'sandbox',
    ...key,
    added_by: OTHER_DEVICE_ID,
    also_removes: [OTHER_DEVICE_ID],
  })
  const first = presentKey({ device: deviceWith({ subjectBlocked: true }), alsoRemoves: [] })
  assert.deepEqual([first.status, first.added_by, first.browser_key], ['blocked', null, null])
  const made = {
    token: new Secret('dt_token'),
    times: { renewAt: NOW + 3_000, expiresAt: NOW + 4_000 },
  }
  const token = {
    device_token: 'dt_token',
    device_token_renew_at: '2026-11-26T12:00:03.000Z',
    device_token_expires_at: '2026-11-26T12:00:04.000Z',
  }
  assert.deepEqual(presentRegistered({ device, made } as never), { ...own, ...token })
  assert.deepEqual(presentRotatedToken(device, made as never), { device_id: DEVICE_ID, ...token })
})

test('a tenant reads the phones of a user, and its rejections with the cursor of the next page', () => {
  const devices = [
    {
      deviceRef: 'ref1',
      status: 'active',
      format: 'webauthn',
      isAttested: true,
      lastBondedAt: null,
    },
    {
      deviceRef: 'ref2',
      status: 'removed',
      format: 'software',
      isAttested: false,
      lastBondedAt: NOW,
    },
  ]
  assert.deepEqual(presentSubject({ subjectRef: 'user', blockedAt: null, devices } as never), {
    subject_ref: 'user',
    blocked_at: null,
    devices: [
      {
        device_ref: 'ref1',
        status: 'active',
        format: 'webauthn',
        key_attested: true,
        last_bonded_at: null,
      },
      {
        device_ref: 'ref2',
        status: 'removed',
        format: 'software',
        key_attested: false,
        last_bonded_at: '2026-11-26T12:00:00.000Z',
      },
    ],
  })
  const rejection = {
    at: NOW,
    requestId: 'req_1',
    sessionId: 'sess_2',
    subjectRef: 'user',
    reason: 'credential_invalid',
    step: 'step',
  }
  const page = { rejections: [rejection], next: { at: NOW, requestId: 'req_3' } }
  assert.deepEqual(presentRejections(page as never), {
    rejections: [
      {
        at: '2026-11-26T12:00:00.000Z',
        request_id: 'req_1',
        session_id: 'sess_2',
        subject_ref: 'user',
        reason: 'credential_invalid',
        step: 'step',
      },
    ],
    next: `${NOW}.req_3`,
  })
  assert.equal(presentRejections({ rejections: [], next: null }).next, null)
})

test('a tenant reads its endpoints and deliveries, and a portal no query of a URL', () => {
  const endpoint = {
    id: 'we_1',
    url: 'https://hooks.example/a/b?key=secret',
    events: ['session.bonded', 'session.expired'],
    scheme: 'v1a',
    loggedCharacters: 12,
    disabledAt: NOW,
    disabledReason: 'gone',
    failures: 3,
    pausedUntil: 0,
    previousUntil: null,
    createdAt: NOW,
  } as never
  const shown = {
    endpoint_id: 'we_1',
    url: 'https://hooks.example/a/b?key=secret',
    events: ['session.bonded', 'session.expired'],
    scheme: 'v1a',
    logged_characters: 12,
    enabled: false,
    disabled_reason: 'gone',
    failures: 3,
    paused_until: null,
    previous_secret_until: null,
    created_at: '2026-11-26T12:00:00.000Z',
  }
  assert.deepEqual(presentEndpoint(endpoint), shown)
  assert.deepEqual(presentInPortal(endpoint), { ...shown, url: 'https://hooks.example/a/b?…' })
  const plain = {
    ...(endpoint as object),
    url: 'https://hooks.example:8443/a',
    events: null,
    disabledAt: null,
    scheme: 'v1',
  } as never
  const portal = presentInPortal(plain)
  assert.deepEqual(
    [portal.url, portal.events, portal.enabled],
    ['https://hooks.example:8443/a', null, true],
  )
  const keys = ({ secret, public_key }: ReturnType<typeof presentWithSecret>) => [
    secret,
    public_key,
  ]
  assert.deepEqual(keys(presentWithSecret({ endpoint, verifier: 'v' })), [null, 'v'])
  assert.deepEqual(keys(presentWithSecret({ endpoint: plain, verifier: 'v' })), ['v', null])

  const delivery = {
    eventId: 'evt_1',
    endpointId: 'we_1',
    type: 'session.bonded',
    state: 'failed',
    attempts: 2,
    dueAt: null,
    createdAt: NOW,
    payload: '{"a":1}',
    history: [
      { at: NOW, ms: 5, status: 503, body: 'busy' },
      { at: NOW, ms: 6, error: 'timed_out' },
    ],
  }
  const summary = {
    event_id: 'evt_1',
    endpoint_id: 'we_1',
    type: 'session.bonded',
    state: 'failed',
    attempts: 2,
    next_attempt_at: null,
    created_at: '2026-11-26T12:00:00.000Z',
  }
  const next = { eventId: 'evt_2', endpointId: 'we_3' }
  assert.deepEqual(presentDeliveries({ deliveries: [delivery], next } as never), {
    deliveries: [summary],
    next: 'evt_2.we_3',
  })
  const at = '2026-11-26T12:00:00.000Z'
  assert.deepEqual(presentEventLog([delivery] as never), {
    deliveries: [
      {
        ...summary,
        payload: '{"a":1}',
        log: [
          { at, ms: 5, status: 503, body: 'busy', error: null },
          { at, ms: 6, status: null, body: null, error: 'timed_out' },
        ],
      },
    ],
  })
})

test('a rejection has each of its public members, the time to wait, and never its step', () => {
  const wire = rejectionToWire(
    {
      reason: 'inbox_paused',
      step: 'secret',
      detail: 'More.',
      param: 'context.display',
      retryAfterMs: 61_001,
      reportedAt: NOW,
      serverTime: NOW + 1_000,
      unready: ['database'] as never,
    },
    'req_1' as RequestId,
  )
  const { message, ...error } = wire.body.error
  assert.deepEqual([wire.status, wire.headers], [409, { 'retry-after': '62' }])
  assert.match(message, /^[A-Z].*\. More\.$/)
  assert.deepEqual(error, {
    code: 'invalid_request',
    requestId: 'req_1',
    reason: 'inbox_paused',
    doc_url: '/reasons#inbox_paused',
    param: 'context.display',
    unready: ['database'],
    reported_at: '2026-11-26T12:00:00.000Z',
    server_time: '2026-11-26T12:00:01.000Z',
  })
  const bare = rejectionToWire({ reason: 'overloaded' }, 'req_2' as RequestId)
  assert.deepEqual(bare.headers, { 'retry-after': '1' })
  assert.deepEqual(Object.keys(bare.body.error), [
    'code',
    'message',
    'requestId',
    'reason',
    'doc_url',
  ])
  const unauthorized = rejectionToWire({ reason: 'credential_missing' }, 'req_3' as RequestId)
  assert.deepEqual(unauthorized.headers, { 'www-authenticate': 'Bearer' })
  assert.deepEqual(
    rejectionToWire({ reason: 'session_not_found' }, 'req_4' as RequestId).headers,
    {},
  )
})
