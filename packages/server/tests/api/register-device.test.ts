import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, test } from 'node:test'
import { DEVICE_MOVES } from '../../../core/src/domain/device-moves.ts'
import { harness } from '../../../../tests/harness/harness.ts'
import { newKey } from '../../../../tests/harness/phone.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())
const DAY_MS = 24 * 60 * 60_000
const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const challenge = async () => (await h.api('POST', '/devices/challenges')).body.challenge as string
const register = (body: object, token?: string) =>
  h.api('POST', '/devices', { token, body: { format: 'software', ...body } })

test('returns the device, its subject and its token, which is shown once', async () => {
  const { public_key } = newKey()
  const registered = await register({ challenge: await challenge(), public_key })
  assert.equal(registered.status, 201)
  const { device_id, device_token, subject_id, key_id } = registered.body
  assert.match(device_token, /^dt_[0-9A-Za-z]{10}_[0-9A-Za-z]{43}$/)
  const record = await h.api('GET', `/devices/${device_id}`, { token: device_token })
  assert.deepEqual(record.body, {
    device_id,
    subject_id,
    key_id,
    format: 'software',
    environment: 'sandbox',
    status: 'active',
    created_at: h.now(),
    last_assertion_at: null,
    browser_key: null,
    device_token_expires_at: new Date(h.clock.now() + 180 * DAY_MS).toISOString(),
    keys_changed_at: null,
  })
})

test('accepts a challenge once, for five minutes, and only if the service issued it', async () => {
  const once = await challenge()
  assert.equal((await register({ challenge: once, public_key: newKey().public_key })).status, 201)
  const late = await challenge()
  h.clock.advance(299_999)
  const fresh = await challenge()
  assert.equal((await register({ challenge: late, public_key: newKey().public_key })).status, 201)
  const expired = await challenge()
  h.clock.advance(300_000)
  for (const bad of [
    once,
    expired,
    'A'.repeat(43),
    `${fresh.slice(0, -2)}${fresh.endsWith('AA') ? 'BA' : 'AA'}`,
  ]) {
    assert.equal(
      (await register({ challenge: bad, public_key: newKey().public_key })).body.error.reason,
      'challenge_not_usable',
    )
  }
})

test('rejects another base64url spelling of a challenge', async () => {
  const given = await challenge()
  const last = BASE64URL.indexOf(given.at(-1) ?? '')
  for (const bits of [1, 2, 3]) {
    const spelt = given.slice(0, -1) + BASE64URL[last ^ bits]
    assert.deepEqual(Buffer.from(spelt, 'base64url'), Buffer.from(given, 'base64url'))
    assert.equal(
      (await register({ challenge: spelt, public_key: newKey().public_key })).body.error.reason,
      'challenge_not_usable',
    )
  }
  assert.equal((await register({ challenge: given, public_key: newKey().public_key })).status, 201)
})

test('accepts exactly one of ten concurrent registrations with one challenge', async () => {
  const once = await challenge()
  const replies = await Promise.all(
    Array.from({ length: 10 }, () =>
      register({ challenge: once, public_key: newKey().public_key }),
    ),
  )
  assert.deepEqual(
    replies.map(({ status }) => status).sort((a, b) => a - b),
    [201, ...Array(9).fill(400)],
  )
})

test('rejects a registered key without using the challenge up', async () => {
  const { public_key } = newKey()
  await register({ challenge: await challenge(), public_key })
  const again = await challenge()
  assert.equal(
    (await register({ challenge: again, public_key })).body.error.reason,
    'key_already_registered',
  )
  assert.equal((await register({ challenge: again, public_key: newKey().public_key })).status, 201)
})

test('rejects a key that is not P-256 in SPKI form', async () => {
  const spki = (curve: string) =>
    generateKeyPairSync('ec', { namedCurve: curve })
      .publicKey.export({ format: 'der', type: 'spki' })
      .toString('base64url')
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
    .publicKey.export({ format: 'der', type: 'spki' })
    .toString('base64url')
  for (const public_key of [spki('secp256k1'), spki('secp384r1'), rsa, 'A'.repeat(122)]) {
    assert.equal(
      (await register({ challenge: await challenge(), public_key })).body.error.reason,
      'public_key_invalid',
    )
  }
})

test('rejects members of another format in a registration, and names the mistake', async () => {
  const chain = Array.from({ length: 3 }, () => 'AAAA')
  const response = { clientDataJSON: 'AAAA', attestationObject: 'AAAA' }
  const registration = { id: 'AAAA', type: 'public-key', response }
  const apple = { format: 'apple-app-attest', key_id: 'A'.repeat(43), attestation_object: 'AAAA' }
  const MISTAKES: readonly (readonly [body: object, reason: string, param: string])[] = [
    [{ format: 'magic' }, 'invalid_member', 'format'],
    [{ format: 7 }, 'invalid_member', 'format'],
    [{ format: undefined }, 'missing_member', 'format'],
    [
      { format: 'apple-app-attest', key_id: 'A'.repeat(43) },
      'missing_member',
      'attestation_object',
    ],
    [{ ...apple, public_key: 'A'.repeat(122) }, 'unknown_member', 'public_key'],
    [{ ...apple, key_id: `${'A'.repeat(43)}+` }, 'invalid_member', 'key_id'],
    [{ ...apple, attestation_object: 'A'.repeat(21_847) }, 'invalid_member', 'attestation_object'],
    [{ format: 'android-key', certificate_chain: [] }, 'invalid_member', 'certificate_chain'],
    [
      { format: 'android-key', certificate_chain: Array(8).fill('AAAA') },
      'invalid_member',
      'certificate_chain',
    ],
    [
      { format: 'android-key', certificate_chain: [...chain, 'A'.repeat(10_924)] },
      'invalid_member',
      'certificate_chain.3',
    ],
    [
      { format: 'android-key', certificate_chain: ['A+A='] },
      'invalid_member',
      'certificate_chain.0',
    ],
    [
      { format: 'webauthn', registration: { ...registration, type: 'password' } },
      'invalid_member',
      'registration.type',
    ],
    [
      { format: 'webauthn', registration: { ...registration, surprise: 1 } },
      'unknown_member',
      'registration.surprise',
    ],
    [
      { format: 'webauthn', registration: { id: 'AAAA', type: 'public-key' } },
      'missing_member',
      'registration.response',
    ],
    [{ format: 'software', public_key: 'A' }, 'invalid_member', 'public_key'],
  ]
  const once = await challenge()
  for (const [body, reason, param] of MISTAKES) {
    const { error } = (await register({ challenge: once, ...body })).body
    assert.deepEqual(
      [error.code, error.reason, error.param],
      ['invalid_request', reason, param],
      JSON.stringify(body),
    )
  }
  const notHere = (await register({ challenge: once, ...apple })).body.error
  assert.deepEqual([notHere.reason, notHere.param], ['format_not_enabled', 'format'])
  assert.equal(
    (await register({ challenge: once, format: 'webauthn', registration })).body.error.reason,
    'attestation_invalid',
  )
  // None of them has used the challenge up.
  assert.equal((await register({ challenge: once, public_key: newKey().public_key })).status, 201)
})

test('rejects the token of a removed device', async () => {
  const phone = await h.register()
  const session = await h.create()
  assert.equal((await h.removeKey(phone)).status, 204)
  assert.equal((await h.claim(phone, session)).body.error.reason, 'credential_invalid')
})

test('rejects a blocked device, even if it had claimed the session', async () => {
  const phone = await h.register()
  const session = await h.create()
  const view = (await h.claim(phone, session)).body
  await h.service.store.write((tables) =>
    tables.devices.move(phone.device_id as never, DEVICE_MOVES.block),
  )
  assert.equal((await h.attest(phone, view)).body.error.reason, 'device_not_usable')
})

test('keeps a removed device removed, whatever an operator does', async () => {
  const phone = await h.register()
  const move = (name: keyof typeof DEVICE_MOVES) =>
    h.service.store.write((tables) =>
      tables.devices.move(phone.device_id as never, DEVICE_MOVES[name]),
    )
  assert.deepEqual(
    [await move('remove'), await move('unblock'), await move('block')],
    [true, false, false],
  )
  assert.equal(
    (await h.api('GET', `/devices/${phone.device_id}`, { token: phone.device_token })).body.error
      .reason,
    'credential_invalid',
  )
})

test('returns when the device’s last assertion was signed', async () => {
  const phone = await h.register()
  const session = await h.create()
  await h.attest(phone, (await h.claim(phone, session)).body)
  const record = await h.api('GET', `/devices/${phone.device_id}`, { token: phone.device_token })
  assert.equal(record.body.last_assertion_at, h.now())
})
