import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AppAttest, decodeBase64url } from '@bonded/contract'
import type { Device } from '../../../../core/src/domain/session.ts'
import {
  androidKey,
  appleKey,
  asTestRoots,
  webauthnKey,
} from '../../../../../tests/harness/attested-phones.ts'
import { fuzz } from '../../../../attestation/tests/harness/fuzz.ts'
import { TestClock } from '../../../../../tests/harness/test-clock.ts'

const PAYLOAD = '{"typ":"bonded-assertion/v1"}'
const CHALLENGE = Buffer.alloc(32, 3).toString('base64url')
const MEMBERS = ['authenticator_data', 'signature', 'client_data_hash', 'client_data_json'] as const
const { assertionVerifiers, attestationVerifiers } = asTestRoots(new TestClock())

for (const makeKey of [appleKey, androidKey, webauthnKey]) {
  const key = makeKey()
  test(`${key.format}: returns a verdict for any input and accepts only the honest assertion`, async (t) => {
    const { keyId, publicKey, appId, webauthn, build } = await registered(key)
    const device = {
      id: 'dev_1',
      format: key.format,
      keyId,
      publicKey,
      appId,
      webauthn,
      build,
    } as unknown as Device
    const honest: AppAttest = { key_id: keyId, ...key.assert(PAYLOAD, { counter: 7 }) }
    assert.ok(
      assertionVerifiers[key.format].verify({ device, payload: PAYLOAD, appAttest: honest }).ok,
    )
    const samples = MEMBERS.flatMap((member) => decodeBase64url(honest[member] ?? '') ?? []).map(
      (bytes) => Buffer.from(bytes),
    )
    const summary = await fuzz(samples, (input) => {
      // Both encoded bytes and arbitrary text.
      for (const text of [input.toString('base64url'), input.toString('latin1')]) {
        for (const member of MEMBERS) {
          const verdict = assertionVerifiers[key.format].verify({
            device,
            payload: PAYLOAD,
            appAttest: { ...honest, [member]: text },
          })
          if (verdict.ok) assert.equal(text, honest[member], `a changed ${member} was accepted`)
          else assert.equal(verdict.rejection.reason, 'assertion_invalid')
        }
      }
    })
    t.diagnostic(summary)
  })
}

async function registered(key: ReturnType<typeof appleKey>) {
  const request = { challenge: CHALLENGE, ...key.register(CHALLENGE) } as never
  const result = await attestationVerifiers[key.format]?.verify(request)
  assert.ok(result?.ok, JSON.stringify(result))
  return result.value
}
