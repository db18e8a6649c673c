import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Secret, type SessionId, type SubjectId, type TenantId } from '@bonded/contract'
import { workedExample } from '../../../../contract/tests/worked-example.ts'
import { keyringOf } from '../../../src/adapters/keys/keyring.ts'
import { systemRandom } from '../../../src/adapters/keys/random.ts'
import { parseRootKeys, RootKeyError } from '../../../../core/src/domain/root-keys.ts'
import { appAssertionVerifier } from '../../../src/adapters/attestation/app-assertion-verifier.ts'

const ROOT_KEY = { id: 'k1', bytes: Uint8Array.from({ length: 32 }, (_, index) => index) }
const NEW_KEY = { id: 'k2', bytes: ROOT_KEY.bytes.toReversed() }
const worked = workedExample
const keys = keyringOf(parseRootKeys(worked.root_keys))
const id = worked.ids.session_id as SessionId

test('worked example: the nonces of a session, and its step nonces', () => {
  const nonces = keys.nonces('k1', id)
  for (const index of [0, 1, 2, 59]) assert.equal(nonces.nonceAt(index), worked.nonceAt(index))
  for (const step of [1, 2]) assert.equal(nonces.stepNonceAt(step), worked.stepNonceAt(step))
})

test('worked example: the completion secret, the watch token and the subject reference', () => {
  const { tenant_id, subject_id } = worked.ids
  assert.equal(keys.completionSecret('k1', id).reveal(), worked.completion_secret)
  assert.equal(keys.watchToken('k1', id).reveal(), worked.watch_token)
  assert.equal(keys.subjectRef(tenant_id as TenantId, subject_id as SubjectId), worked.subject_ref)
})

test('worked example: the evidence signature', () => {
  const { signature, ...summary } = worked.verified_evidence
  assert.equal(
    keys.evidenceMac('k1', { ...worked.ids, nonce: worked.nonceAt(0) }, summary),
    signature,
  )
})

test('worked example: the assertion of a software key verifies', () => {
  const { payload, client_data_hash, authenticator_data, signature, public_key } = worked.assertion
  const device = { keyId: 'example', publicKey: public_key, appId: 'software' } as never
  const appAttest = { key_id: 'example', client_data_hash, authenticator_data, signature }
  assert.deepEqual(appAssertionVerifier.verify({ device, payload, appAttest }), {
    ok: true,
    value: { counter: 1, userVerified: false },
  })
})

test('uses the first root key, verifies with all, and does not hold a removed one', () => {
  const random = systemRandom()
  const text = (name: string) =>
    `${name}:${Buffer.concat([random.id(), random.id()]).toString('base64url')}`
  const ring = keyringOf(parseRootKeys(`${text('k2')},${text('k1')}`))
  assert.equal(ring.currentKeyId, 'k2')
  assert.deepEqual([ring.holds('k1'), ring.holds('k2'), ring.holds('k0')], [true, true, false])
})

test('accepts a registration challenge under any root key and rejects one with a changed byte', () => {
  const before = keyringOf([ROOT_KEY])
  const after = keyringOf([NEW_KEY, ROOT_KEY])
  const challenge = before.deviceChallenge(1_800_000_000_000)
  assert.deepEqual(
    [before, after].map((ring) => ring.deviceChallengeExpiry(challenge)),
    [1_800_000_000_000, 1_800_000_000_000],
  )
  assert.equal(keyringOf([NEW_KEY]).deviceChallengeExpiry(challenge), undefined)
  const bytes = Buffer.from(challenge, 'base64url')
  for (let index = 0; index < bytes.length; index++) {
    const changed = Buffer.from(bytes)
    changed[index] = (bytes[index] ?? 0) ^ 1
    assert.equal(
      before.deviceChallengeExpiry(changed.toString('base64url')),
      undefined,
      `byte ${index}`,
    )
  }
})

test('derives distinct values for each purpose, root key, session and tenant', () => {
  const ring = keyringOf([NEW_KEY, ROOT_KEY])
  const [session, other] = ['sess_one', 'sess_two'] as SessionId[]
  assert.ok(session && other)
  const subject = 'sub_one' as SubjectId
  const values = ['k1', 'k2'].flatMap((keyId) =>
    [session, other].flatMap((id) => {
      const { nonceAt, stepNonceAt } = ring.nonces(keyId, id)
      // Without prefixes and for the same text, so that only the derived keys differ.
      const derived = [
        ring.completionSecret(keyId, id).reveal().slice(4),
        ring.watchToken(keyId, id).reveal().slice(4),
        ring.bodyMac(keyId, id),
      ]
      return [
        ...derived,
        nonceAt(0),
        nonceAt(1),
        stepNonceAt(0),
        stepNonceAt(1),
        ring.bodyMac(keyId, `${id}.0`),
      ]
    }),
  )
  const names = ['ten_one', 'ten_two'].map((tenant) => ring.subjectRef(tenant as TenantId, subject))
  assert.equal(new Set([...values, ...names]).size, values.length + names.length)
})

test('compares texts as equal only if every character is equal', () => {
  const ring = keyringOf([ROOT_KEY])
  const same = (a: string, b: string) => ring.same(a, b)
  assert.deepEqual(
    [same('secret', 'secret'), same('secret', 'secreT'), same('secret', 'secret '), same('', '')],
    [true, false, false, true],
  )
})

test('rejects malformed, short, weak or duplicate root keys without quoting them', () => {
  const good = Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7)).toString(
    'base64url',
  )
  for (const text of [
    '',
    'k1',
    `k1:${good}x`,
    `k1:${good.slice(0, 40)}`,
    `k1:${'A'.repeat(43)}`,
    `k1:${good},k1:${good}`,
    `k 1:${good}`,
    `k1:${good}:x`,
  ]) {
    assert.throws(
      () => parseRootKeys(text),
      (failure) => failure instanceof RootKeyError && !failure.message.includes(good.slice(0, 10)),
      text,
    )
  }
})

test('never prints the value of a secret', () => {
  const secret = new Secret('bcs_very_secret')
  for (const printed of [
    String(secret),
    JSON.stringify({ secret }),
    inspect(secret),
    inspect({ deep: [secret] }),
    'a '.concat(String(secret)),
  ]) {
    assert.doesNotMatch(printed, /very/)
  }
})

test('derives stable motion fingerprints that are unrelated between devices and root keys', () => {
  const keyring = keyringOf([ROOT_KEY, NEW_KEY])
  const orders = Array.from({ length: 55 }, (_, index) => 2 ** 31 + index)
  const of = (keyId: string, deviceId: string) =>
    keyring.motionFingerprints(keyId, deviceId, orders)
  const [phone, other] = ['dev_0aB1cD2eF3gH4iJ5kL6mN7', 'dev_0aB1cD2eF3gH4iJ5kL6mN8']
  const marks = of('k1', phone)
  const strangers = [...of('k1', other), ...of('k2', phone)]
  // Derived again after other devices: fingerprints do not depend on earlier calls.
  assert.deepEqual(of('k1', phone), marks)
  assert.equal(new Set(marks).size, orders.length)
  assert.ok(strangers.filter((mark) => marks.includes(mark)).length <= 1)
})

test('derives the same motion fingerprints in every version, because they are stored', () => {
  const fingerprints = keyringOf([ROOT_KEY]).motionFingerprints(
    'k1',
    'dev_0aB1cD2eF3gH4iJ5kL6mN7',
    [0, 1, 2 ** 30 - 1],
  )
  assert.deepEqual(fingerprints, [3280610, 1548580, 1852989])
})
