import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeviceId, SubjectId, TimelineEntry } from '@bonded/contract'
import { createAuthenticator, WEBAUTHN_FLAGS } from '../../../simulator/src/index.ts'
import { moveDevice } from '../../../core/src/operations/admin/devices.ts'
import { changeSubject } from '../../../core/src/operations/admin/subjects.ts'
import { appleKey, asTestRoots, webauthnKey } from '../../../../tests/harness/attested-phones.ts'
import {
  type Harness,
  harness,
  PUBLIC_ORIGIN,
  SHOP_ORIGIN,
} from '../../../../tests/harness/harness.ts'
import {
  type AttestedKey,
  newKey,
  recoveryRequest,
  type Tampering,
  type TestPhone,
  tokenRequest,
} from '../../../../tests/harness/phone.ts'

const ORIGIN = { origin: PUBLIC_ORIGIN }
const { userPresent, userVerified, backupEligible, backedUp } = WEBAUTHN_FLAGS

const challengeOf = async (h: Harness): Promise<string> =>
  (await h.api('POST', '/devices/challenges')).body.challenge
const post = (h: Harness, body: object, headers: Record<string, string> = {}) =>
  h.api('POST', '/devices/recovery', { body, headers })
const recover = async (
  h: Harness,
  phone: TestPhone,
  tampering: Tampering & { origin?: string } = {},
) => post(h, recoveryRequest(phone, await challengeOf(h), { ...ORIGIN, ...tampering }))
const register = (h: Harness, key: AttestedKey = webauthnKey('unattested')) =>
  h.register(undefined, key)
const opens = async (h: Harness, { device_id }: TestPhone, token: string) =>
  (await h.api('GET', `/devices/${device_id}`, { token })).status === 200
const eventsOf = async (h: Harness, { device_id }: TestPhone) =>
  (await h.service.store.read((tables) => tables.devices.events(device_id as DeviceId))).map(
    ({ kind }) => kind,
  )
const statusOf = async (h: Harness, { device_id }: TestPhone) =>
  (await h.service.store.read((tables) => tables.devices.find(device_id as DeviceId)))?.status

const SYNCED = userPresent | userVerified | backupEligible | backedUp

/** A synced passkey, whose counter stays 0. `tamper` changes its assertions. */
function syncedKey(
  tamper: { readonly clientData?: object; readonly flags?: number } = {},
): AttestedKey {
  const authenticator = createAuthenticator({ origin: PUBLIC_ORIGIN, flags: SYNCED, counts: false })
  return {
    format: 'webauthn',
    register: (challenge) => ({ registration: authenticator.register(challenge) }),
    assert: (payload) => authenticator.assert(payload, tamper),
  }
}

async function assertRejected(reply: Awaited<ReturnType<typeof post>>, what: string) {
  const { requestId: _, ...error } = reply.body.error
  assert.deepEqual(
    [reply.status, error],
    [
      400,
      {
        code: 'invalid_request',
        message:
          'The assertion is not valid for this session and device. Rebuild the payload and sign again.',
        reason: 'assertion_invalid',
        doc_url: '/reasons#assertion_invalid',
      },
    ],
    what,
  )
}

for (const [name, makeKey] of [
  ['counting', () => webauthnKey('unattested')],
  ['synced', syncedKey],
  ['attested', webauthnKey],
] as const)
  test(`a passkey recovers its device: ${name}`, async () => {
    await using h = await harness({ attestation: asTestRoots })
    const phone = await register(h, makeKey())
    const session = await h.create()
    await h.claim(phone, session)
    h.clock.advance(1_000)
    const { status, body } = await recover(h, phone)
    assert.equal(status, 201)
    assert.deepEqual(
      [body.device_id, body.subject_id, body.key_id, body.format],
      [phone.device_id, phone.subject_id, phone.key_id, 'webauthn'],
    )
    // The response may be lost: the old token works until the new one is first used.
    assert.equal(await opens(h, phone, phone.device_token), true)
    h.clock.advance(1_000)
    const { device_token } = (await recover(h, phone)).body
    assert.equal(await opens(h, phone, body.device_token), false)
    assert.equal(await opens(h, phone, device_token), true)
    assert.equal(await opens(h, phone, phone.device_token), false)
    const recovered = { ...phone, device_token }
    assert.equal((await h.attest(recovered, await h.view(recovered, session))).body.state, 'bonded')
    assert.deepEqual(await eventsOf(h, phone), [
      'registered',
      'token_recovered',
      'token_recovered',
      'token_rotated',
    ])
    const { entries } = (
      await h.api('GET', `/sessions/${session.id}/timeline`, { token: h.shop.server })
    ).body
    const notes = entries
      .filter(({ kind }: TimelineEntry) => kind === 'note')
      .map(({ reason }: TimelineEntry) => reason)
    assert.deepEqual(notes, [
      'device_token_recovered',
      'device_token_recovered',
      'device_token_rotated',
    ])
  })

test('a token that has expired does not prevent a recovery', async () => {
  await using h = await harness()
  const phone = await register(h)
  h.clock.advance(200 * 24 * 60 * 60_000)
  const { device_token } = (await recover(h, phone)).body
  assert.equal(await opens(h, phone, device_token), true)
})

test('a synced passkey takes its device to the phone that recovered last, and is not suspect', async () => {
  await using h = await harness()
  const phone = await register(h, syncedKey())
  let held = phone.device_token
  for (let turn = 0; turn < 4; turn++) {
    h.clock.advance(1_000)
    const { device_token } = (await recover(h, phone)).body
    assert.equal(await opens(h, phone, device_token), true)
    assert.equal(await opens(h, phone, held), false)
    held = device_token
  }
  assert.equal(await statusOf(h, phone), 'active')
})

test('a recovery counts from its challenge, so the key can renew its token right after', async () => {
  await using h = await harness()
  const phone = await register(h, syncedKey())
  const early = recoveryRequest(phone, await challengeOf(h), ORIGIN)
  h.clock.advance(1_000)
  const { device_token } = (await recover(h, phone)).body
  h.clock.advance(1_000)
  const renewed = await h.api('POST', `/devices/${phone.device_id}/token`, {
    token: device_token,
    body: tokenRequest(phone, h.now(), ORIGIN),
  })
  assert.equal(renewed.status, 201)
  await assertRejected(await post(h, early), 'an earlier challenge')
  assert.equal(await statusOf(h, phone), 'active')
})

test('rejects each wrong recovery with one response, and changes nothing', async () => {
  await using h = await harness()
  const phone = await register(h)
  const stranger = { ...(await register(h)), key_id: phone.key_id }
  const unknown = { ...phone, key_id: Buffer.alloc(32, 9).toString('base64url') }
  const wrongs: readonly (readonly [string, TestPhone, Tampering & { origin?: string }])[] = [
    ['another key', stranger, {}],
    ['an unknown credential', unknown, {}],
    ['another signature', phone, { privateKey: newKey().privateKey }],
    ['another origin', phone, { origin: 'https://elsewhere.example' }],
    ['another relying party id', phone, { appId: 'elsewhere.example' }],
    ['another hash', phone, { hash: Buffer.alloc(32) }],
    ['a software key', await h.register(), {}],
  ]
  for (const [what, signer, tampering] of wrongs)
    await assertRejected(await recover(h, signer, tampering), what)
  for (const [what, tamper] of [
    ['a sibling of the host', { clientData: { origin: 'https://a.bond.example' } }],
    ['a frame of another origin', { clientData: { crossOrigin: true } }],
    ['a frame in a page', { clientData: { topOrigin: SHOP_ORIGIN } }],
    ['a registration', { clientData: { type: 'webauthn.create' } }],
    ['an unverified user', { flags: SYNCED & ~userVerified }],
  ] as const)
    await assertRejected(await recover(h, await register(h, syncedKey(tamper))), what)
  assert.equal(await opens(h, phone, phone.device_token), true)
  assert.deepEqual(await eventsOf(h, phone), ['registered'])
  assert.equal((await recover(h, phone)).status, 201)
})

test('rejects keys of apps, whose counter is on the phone', async () => {
  await using h = await harness({ attestation: asTestRoots })
  await assertRejected(await recover(h, await register(h, appleKey())), 'App Attest')
})

test('rejects a challenge that is used, expired, forged, or spent on a registration', async () => {
  await using h = await harness()
  const phone = await register(h)
  const challenge = await challengeOf(h)
  const body = recoveryRequest(phone, challenge, ORIGIN)
  assert.equal((await post(h, body)).status, 201)
  await assertRejected(await post(h, body), 'the same request')
  await assertRejected(await post(h, recoveryRequest(phone, challenge, ORIGIN)), 'its challenge')
  const forged = Buffer.alloc(32, 1).toString('base64url')
  await assertRejected(await post(h, recoveryRequest(phone, forged, ORIGIN)), 'forged')
  const { body: registration } = await h.registration(webauthnKey('unattested'))
  assert.equal((await h.api('POST', '/devices', { body: registration })).status, 201)
  await assertRejected(
    await post(h, recoveryRequest(phone, registration.challenge, ORIGIN)),
    'of a registration',
  )
  const old = recoveryRequest(phone, await challengeOf(h), ORIGIN)
  h.clock.advance(300_000)
  await assertRejected(await post(h, old), 'expired')
  assert.equal(await statusOf(h, phone), 'active')
})

test('accepts one of several concurrent copies of a request, and marks no device suspect', async () => {
  await using h = await harness()
  for (const key of [webauthnKey('unattested'), syncedKey()]) {
    const phone = await register(h, key)
    const body = recoveryRequest(phone, await challengeOf(h), ORIGIN)
    const replies = await Promise.all(Array.from({ length: 8 }, () => post(h, body)))
    const accepted = replies.filter(({ status }) => status === 201)
    assert.equal(accepted.length, 1)
    for (const reply of replies)
      if (!accepted.includes(reply)) await assertRejected(reply, 'a copy')
    assert.equal(await statusOf(h, phone), 'active')
    assert.equal(await opens(h, phone, accepted[0]?.body.device_token), true)
  }
})

test('rejects a tenant’s page', async () => {
  await using h = await harness()
  const phone = await register(h)
  const body = recoveryRequest(phone, await challengeOf(h), ORIGIN)
  for (const origin of [SHOP_ORIGIN, 'https://evil.example', 'null']) {
    const reply = await post(h, body, { origin })
    assert.deepEqual([reply.status, reply.body.error.reason], [403, 'origin_not_allowed'])
  }
  assert.equal((await post(h, body, ORIGIN)).status, 201)
})

test('recovers no device that is blocked, removed or suspect, nor one of a blocked subject', async () => {
  await using h = await harness()
  for (const move of ['block', 'remove', 'suspect'] as const) {
    const phone = await register(h)
    if (move === 'suspect')
      await h.service.store.write((tables) =>
        tables.devices.move(phone.device_id as DeviceId, { from: ['active'], to: 'suspect' }),
      )
    else await moveDevice(h.service, phone.device_id as DeviceId, move)
    await assertRejected(await recover(h, phone), move)
    if (move === 'remove') continue
    await moveDevice(h.service, phone.device_id as DeviceId, 'unblock')
    assert.equal((await recover(h, phone)).status, 201, move)
  }
  const phone = await register(h)
  await changeSubject(h.service, phone.subject_id as SubjectId, 'block')
  await assertRejected(await recover(h, phone), 'subject')
})

test('detects a copied key that recovers by its counter', async () => {
  await using h = await harness()
  const phone = await register(h)
  const copy = { ...phone }
  assert.equal((await recover(h, phone)).status, 201)
  h.clock.advance(1_000)
  await assertRejected(await recover(h, copy), 'a lower counter')
  assert.equal(await statusOf(h, phone), 'suspect')
  assert.deepEqual(await eventsOf(h, phone), ['registered', 'token_recovered', 'suspect'])
  await assertRejected(await recover(h, phone), 'suspect')
})

test('a bond does not become a recovery, nor a recovery a bond', async () => {
  await using h = await harness()
  const phone = await register(h)
  const session = await h.create()
  const view = await h.view(phone, session)
  const { verified_evidence } = (await h.evidence(phone, view)).body
  const { challenge, app_attest } = recoveryRequest(phone, await challengeOf(h), ORIGIN)
  const bond = {
    session_id: session.id,
    nonce: session.nonce,
    device_id: phone.device_id,
    subject_id: phone.subject_id,
    issued_at: h.now(),
    app_attest,
    verified_evidence,
  }
  const reply = await h.api('POST', '/attestations', { token: phone.device_token, body: bond })
  assert.equal(reply.body.error.reason, 'assertion_invalid')
  assert.equal((await post(h, { challenge, app_attest })).status, 201)
})
