import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AppAttest, decodeBase64url } from '@bonded/contract'
import { reencodeCbor, reencodeDer } from '../../../../attestation/tests/harness/reencode.ts'
import type { Device } from '../../../../core/src/domain/session.ts'
import {
  androidKey,
  appleKey,
  asTestRoots,
  webauthnKey,
} from '../../../../../tests/harness/attested-phones.ts'
import { TestClock } from '../../../../../tests/harness/test-clock.ts'
import { outcomeOf } from '../../../../../tests/harness/outcome-of.ts'

const CHALLENGE = Buffer.alloc(32, 3)
const PAYLOAD = '{"typ":"bonded-assertion/v1"}'
const { attestationVerifiers, assertionVerifiers } = asTestRoots(new TestClock())

test('rejects a re-encoded browser registration, except for another order of its members', async () => {
  const { registration } = webauthnKey().register(CHALLENGE.toString('base64url')) as {
    registration: { response: { attestationObject: string } }
  }
  const verdictOf = async (bytes: Buffer) => {
    const response = { ...registration.response, attestationObject: bytes.toString('base64url') }
    const request = {
      challenge: CHALLENGE.toString('base64url'),
      registration: { ...registration, response },
    } as never
    const registered = await attestationVerifiers.webauthn?.verify(request)
    assert.ok(registered)
    return outcomeOf(registered)
  }
  const honest = Buffer.from(decodeBase64url(registration.response.attestationObject) ?? [])
  assert.equal(await verdictOf(honest), 'ok')
  const taken: string[] = []
  for (const { what, bytes } of reencodeCbor(honest))
    if ((await verdictOf(bytes)) === 'ok') taken.push(what)
  assert.deepEqual(taken, ['reversed', '5.3 reversed'])
})

for (const makeKey of [appleKey, androidKey, webauthnKey]) {
  const key = makeKey()
  test(`${key.format}: rejects a re-encoded signature and one with numbers out of range`, async () => {
    const request = {
      challenge: CHALLENGE.toString('base64url'),
      ...key.register(CHALLENGE.toString('base64url')),
    } as never
    const registered = await attestationVerifiers[key.format]?.verify(request)
    assert.ok(registered?.ok)
    const device = { ...registered.value, id: 'dev_1', format: key.format } as unknown as Device
    const honest: AppAttest = {
      key_id: registered.value.keyId,
      ...key.assert(PAYLOAD, { counter: 7 }),
    }
    const verdictOf = (signature: Buffer) =>
      outcomeOf(
        assertionVerifiers[key.format].verify({
          device,
          payload: PAYLOAD,
          appAttest: { ...honest, signature: signature.toString('base64url') },
        }),
      )
    const signature = Buffer.from(decodeBase64url(honest.signature) ?? [])
    assert.equal(verdictOf(signature), 'ok')
    for (const { what, bytes } of reencodeDer(signature))
      assert.match(verdictOf(bytes), /^(signature|encoding)$/, what)
    for (const one of NUMBERS)
      for (const other of NUMBERS)
        assert.match(verdictOf(signatureOf(one, other)), /^(signature|encoding)$/)
    // The concatenation of r and s is the signature form of another format.
    assert.match(verdictOf(sideBySide(signature)), /^(signature|encoding)$/)
  })
}

/** Zero, one, minus one, the order of P-256, one more, and 33 bytes. */
const ORDER = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551'
const NUMBERS = [
  '00',
  '01',
  'ff',
  `00${ORDER}`,
  `00${ORDER.slice(0, -2)}52`,
  `7f${'00'.repeat(32)}`,
].map((hex) => Buffer.from(hex, 'hex'))

function signatureOf(one: Buffer, other: Buffer): Buffer {
  const numbers = Buffer.concat(
    [one, other].flatMap((number) => [Buffer.of(0x02, number.length), number]),
  )
  return Buffer.concat([Buffer.of(0x30, numbers.length), numbers])
}

function sideBySide(signature: Buffer): Buffer {
  const first = signature.readUInt8(3)
  const [one, other] = [signature.subarray(4, 4 + first), signature.subarray(6 + first)]
  return Buffer.concat(
    [one, other].map((number) => Buffer.concat([Buffer.alloc(32), number]).subarray(-32)),
  )
}
