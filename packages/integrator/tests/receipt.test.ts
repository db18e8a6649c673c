import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLocalJWKSet, importSPKI, jwtVerify } from 'jose'
import { canonicalJson, encodeBase64url, type ReceiptClaims } from '@bonded/contract'
import { harness, PUBLIC_ORIGIN } from '../../../tests/harness/harness.ts'
import { quorumHarness } from '../../../tests/harness/quorum.ts'
import { testSigner } from '../../../tests/harness/test-signer.ts'
import type { Signer } from '../../core/src/ports/signer.ts'
import { GateError, type ReceiptKeySet, verifyReceipt } from '../src/index.ts'

const CONTEXT = { display: [{ label: 'Größe', value: '12,500 €' }] }

/** A receipt that the service has made, and its keys. */
async function made(signer: Signer = testSigner()): Promise<{
  receipt: string
  jwks: ReceiptKeySet
  tenantId: string
  sessionId: string
}> {
  await using h = await harness({ receiptSigner: signer })
  const { session } = await h.reach('bonded', { workflow: 'credit_application', context: CONTEXT })
  await h.complete(session)
  const { body } = await h.api('GET', `/sessions/${session.id}/receipt`, { token: h.shop.server })
  const { text } = await h.call('GET', '/.well-known/jwks.json')
  return {
    receipt: body.receipt,
    jwks: JSON.parse(text),
    tenantId: h.shop.tenant.id,
    sessionId: session.id,
  }
}
const honest = await made()
const { jwks, tenantId, sessionId } = honest
const claims = JSON.parse(
  Buffer.from(honest.receipt.split('.')[1] ?? '', 'base64url').toString(),
) as ReceiptClaims

/** Signs other claims with the key of the service. */
async function forged(changes: object, head: object = {}): Promise<string> {
  const signer = testSigner()
  const { kid } = signer.publicKeys[0]
  const part = (value: object) => encodeBase64url(Buffer.from(JSON.stringify(value)))
  const header = { alg: 'EdDSA', kid, typ: 'bonded-receipt+jwt', ...head }
  const input = `${part(header)}.${part({ ...claims, ...changes })}`
  return `${input}.${encodeBase64url(await signer.sign(Buffer.from(input)))}`
}
const verdictOf = async (receipt: string, given: object = {}) => {
  const verdict = await verifyReceipt({ receipt, jwks, ...given })
  return verdict.decision === 'accept' ? 'accept' : verdict.reason
}

test('accepts a receipt of the service, for its issuer, tenant and session only', async () => {
  const issuer = PUBLIC_ORIGIN
  assert.equal(await verdictOf(honest.receipt, { issuer, tenantId, sessionId }), 'accept')
  assert.equal(await verdictOf(await forged({})), 'accept')
  const other = 'https://other.example'
  assert.equal(await verdictOf(honest.receipt, { issuer: other }), 'issuer_mismatch')
  assert.equal(await verdictOf(honest.receipt, { tenantId: 'ten_other' }), 'tenant_mismatch')
  assert.equal(await verdictOf(honest.receipt, { sessionId: 'sess_other' }), 'session_mismatch')
})

test('rejects a receipt of which any single character was changed', async () => {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  for (let index = 0; index < honest.receipt.length; index++) {
    const character = honest.receipt[index] ?? ''
    // In the last digit of a part, the lowest bit has no meaning: only a strict decoder sees it.
    const lowestBit = digits[digits.indexOf(character) ^ 1] ?? 'A'
    const junk = '.=\n +'[index % 5] ?? ' '
    for (const other of [lowestBit, junk].filter((each) => each !== character)) {
      const changed = honest.receipt.slice(0, index) + other + honest.receipt.slice(index + 1)
      assert.notEqual(await verdictOf(changed), 'accept', `${character} to ${other} at ${index}`)
    }
  }
})

test('rejects the receipt of one approval of several, which proves no quorum', async () => {
  await using scene = await quorumHarness()
  const { h, people } = scene
  const quorum = await scene.ask()
  const first = await scene.approve(people[0], quorum)
  await scene.approve(people[1], quorum)
  await h.complete(first, { 'x-bond-outcome': 'accepted' })
  const { body } = await h.api('GET', `/sessions/${first.id}/receipt`, { token: h.shop.server })
  const keys = JSON.parse((await h.call('GET', '/.well-known/jwks.json')).text) as ReceiptKeySet
  assert.deepEqual(await verifyReceipt({ receipt: body.receipt, jwks: keys }), {
    decision: 'reject',
    reason: 'one_of_several',
  })
})

test('rejects a receipt that the service signs and the phone did not', async () => {
  const { phone } = claims
  const payload = JSON.parse(phone.payload) as Record<string, unknown>
  const signedBy = (changes: object) => ({ phone: { ...phone, ...changes } })
  const resigned = (changes: object) =>
    signedBy({ payload: canonicalJson({ ...payload, ...changes }) })
  const larger = { display: [{ label: 'Größe', value: '99,500 €' }] }
  const cases: readonly (readonly [what: string, changes: object, reason: string])[] = [
    ['another context', { context: larger }, 'context_mismatch'],
    ['no context', { context: null }, 'context_mismatch'],
    ['another action', { action: 'other' }, 'payload_mismatch'],
    ['another workflow', { workflow: 'other' }, 'payload_mismatch'],
    ['another session', { session_id: `sess_${'0'.repeat(22)}` }, 'payload_mismatch'],
    ['another tenant', { aud: `ten_${'0'.repeat(22)}` }, 'payload_mismatch'],
    ['another service', { iss: 'https://other.example' }, 'payload_mismatch'],
    ['another format', { device_format: 'webauthn' }, 'payload_mismatch'],
    ['another payload', resigned({ nonce: 'x' }), 'phone_signature_mismatch'],
    ['a payload that is no object', signedBy({ payload: 'null' }), 'payload_mismatch'],
    [
      'another signature',
      signedBy({ signature: `${phone.signature.slice(0, -4)}AAAA` }),
      'phone_signature_mismatch',
    ],
    [
      'a signature that is none',
      signedBy({ signature: 'AAAAAAAAAAAA' }),
      'phone_signature_mismatch',
    ],
    ['a key that is none', signedBy({ public_key: 'AAAA' }), 'phone_signature_mismatch'],
    [
      'other authenticator data',
      signedBy({ authenticator_data: 'A'.repeat(52) }),
      'phone_signature_mismatch',
    ],
    ['no phone', { phone: undefined }, 'malformed'],
    ['a state that is no text', { state: 7 }, 'malformed'],
  ]
  for (const [what, changes, reason] of cases)
    assert.equal(await verdictOf(await forged(changes)), reason, what)
})

test('rejects a header of another kind, and a key that the service does not publish', async () => {
  for (const head of [{ alg: 'none' }, { alg: 'HS256' }, { typ: 'JWT' }])
    assert.equal(await verdictOf(await forged({}, head)), 'malformed', JSON.stringify(head))
  assert.equal(await verdictOf(await forged({}, { kid: 'other' })), 'key_unknown')
  assert.equal(await verdictOf(`${honest.receipt}.e30`), 'malformed')
  assert.equal(await verdictOf(''), 'malformed')
  await assert.rejects(
    verifyReceipt({ receipt: honest.receipt, jwks: {} as ReceiptKeySet }),
    (failure) => failure instanceof GateError && failure.code === 'invalid_configuration',
  )
})

test('receipts verify with jose alone, after two rotations of the key', async () => {
  const receipts = [honest.receipt, (await made(testSigner(1))).receipt]
  const { receipt, jwks: current } = await made(testSigner(2))
  assert.equal(current.keys.length, 3)
  const keys = createLocalJWKSet({ keys: [...current.keys] as never })
  for (const each of [...receipts, receipt]) {
    const { payload, protectedHeader } = await jwtVerify(each, keys, {
      algorithms: ['EdDSA'],
      issuer: PUBLIC_ORIGIN,
      typ: 'bonded-receipt+jwt',
    })
    assert.equal((await verifyReceipt({ receipt: each, jwks: current })).decision, 'accept')
    assert.deepEqual([protectedHeader.typ, payload.context], ['bonded-receipt+jwt', CONTEXT])
  }
  assert.equal(await verdictOf(receipt), 'key_unknown')
  const { public_key: spki } = claims.phone
  const pem = `-----BEGIN PUBLIC KEY-----\n${Buffer.from(spki, 'base64url').toString('base64')}\n-----END PUBLIC KEY-----`
  assert.ok(await importSPKI(pem, 'ES256'))
})
