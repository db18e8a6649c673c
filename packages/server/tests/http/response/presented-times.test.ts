import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret } from '@bonded/contract'
import {
  CREATED_AT as START,
  DEVICE_ID,
  deviceWith,
  sessionWith,
  tenantWith,
} from '../../../../core/tests/records.ts'
import type { Settings } from '../../../../core/src/operations/service.ts'
import type { BackendView } from '../../../../core/src/operations/session/session-view.ts'
import type {
  WebhookDelivery,
  WebhookEndpoint,
} from '../../../../core/src/ports/tables/webhook-table.ts'
import { presentFull, presentPhone, presentPublic } from '../../../src/http/response/present.ts'
import {
  presentDevice,
  presentKey,
  presentRotatedToken,
} from '../../../src/http/response/present-device.ts'
import { presentSubject } from '../../../src/http/response/present-subject.ts'
import {
  presentDeliveries,
  presentEndpoint,
  presentEventLog,
} from '../../../src/http/response/present-webhook.ts'

/** An instant of its own for each number, so that no time is mistaken for another. */
const at = (seconds: number) => START + seconds * 1_000
/** The same instant as a response has it. The records begin at noon. */
const shown = (seconds: number) => `2026-11-26T12:00:${String(seconds).padStart(2, '0')}.000Z`

/** The times and spans of a response, by the path of their member. */
function timesOf(value: unknown, path = ''): Record<string, unknown> {
  if (typeof value !== 'object' || value === null)
    return /(_at|_until|_ms|_time|\.at|\.ms)$/.test(path) ? { [path.slice(1)]: value } : {}
  const members = Object.entries(value as Record<string, unknown>)
  return Object.fromEntries(
    members.flatMap(([name, member]) => Object.entries(timesOf(member, `${path}.${name}`))),
  )
}

const session = sessionWith({
  expiresAt: at(20),
  pendingUntil: at(2),
  claimedAt: at(3),
  bondedAt: at(4),
  completedAt: at(5),
  endedAt: at(6),
  receiptDueAt: at(7),
})
const view: BackendView = {
  session,
  now: at(1),
  nonce: 'nonce',
  rotatesAt: at(11),
  challengeExpiresAt: at(12),
  watchToken: new Secret('bwt_watch'),
  isUsable: true,
}
const settings = {
  publicOrigin: 'https://id.example',
  appScheme: 'bonded',
} as unknown as Settings
const SHARED = {
  challenge_expires_at: shown(12),
  expires_at: shown(20),
  server_time: shown(1),
  expires_in_ms: 19_000,
  challenge_expires_in_ms: 11_000,
  challenge_rotates_in_ms: 10_000,
  reported_at: shown(5),
}

test('each view of a session has the times of that session', () => {
  assert.deepEqual(timesOf(presentFull(settings, view)), SHARED)
  assert.deepEqual(timesOf(presentPublic(settings, view, tenantWith())), SHARED)
  const phone = presentPhone(settings, { ...view, tenant: tenantWith(), watchToken: undefined })
  assert.deepEqual(timesOf(phone), { ...SHARED, created_at: shown(0) })
})

test('a phone reads the times of its key and of its token', () => {
  const device = deviceWith({
    createdAt: at(1),
    lastIssuedAt: at(2),
    browserKey: { rpId: 'id.example', createdAt: at(3) } as never,
  })
  const ofKey = {
    created_at: shown(1),
    last_assertion_at: shown(2),
    'browser_key.created_at': shown(3),
  }
  assert.deepEqual(timesOf(presentKey({ device, alsoRemoves: [DEVICE_ID] })), ofKey)
  const own = { device, tokenExpiresAt: at(4), keysChangedAt: at(5) }
  assert.deepEqual(timesOf(presentDevice(own)), {
    ...ofKey,
    device_token_expires_at: shown(4),
    keys_changed_at: shown(5),
  })
  const made = { token: new Secret('dt_token'), times: { renewAt: at(6), expiresAt: at(7) } }
  assert.deepEqual(timesOf(presentRotatedToken(device, made as never)), {
    device_token_renew_at: shown(6),
    device_token_expires_at: shown(7),
  })
})

test('a tenant reads the times of a user’s phones', () => {
  const devices = [1, 2].map((second) => ({
    deviceRef: 'phone',
    status: 'active',
    format: 'software',
    isAttested: false,
    lastBondedAt: at(second),
  }))
  const subject = { subjectRef: 'user', blockedAt: at(3), devices }
  assert.deepEqual(timesOf(presentSubject(subject as never)), {
    blocked_at: shown(3),
    'devices.0.last_bonded_at': shown(1),
    'devices.1.last_bonded_at': shown(2),
  })
})

test('a tenant reads the times of its webhook endpoints and of their deliveries', () => {
  const endpoint = {
    url: 'https://hooks.example/',
    events: null,
    previousUntil: at(1),
    createdAt: at(2),
    disabledAt: at(3),
    pausedUntil: at(4),
    leasedUntil: at(5),
  } as unknown as WebhookEndpoint
  assert.deepEqual(timesOf(presentEndpoint(endpoint)), {
    created_at: shown(2),
    paused_until: shown(4),
    previous_secret_until: shown(1),
  })
  const delivery = {
    createdAt: at(6),
    dueAt: at(7),
    history: [
      { at: at(8), ms: 81, status: 200, body: '' },
      { at: at(9), ms: 91, error: 'timed_out' },
    ],
  } as unknown as WebhookDelivery
  const summary = {
    'deliveries.0.created_at': shown(6),
    'deliveries.0.next_attempt_at': shown(7),
  }
  assert.deepEqual(timesOf(presentDeliveries({ deliveries: [delivery], next: null })), summary)
  assert.deepEqual(timesOf(presentEventLog([delivery])), {
    ...summary,
    'deliveries.0.log.0.at': shown(8),
    'deliveries.0.log.0.ms': 81,
    'deliveries.0.log.1.at': shown(9),
    'deliveries.0.log.1.ms': 91,
  })
})
