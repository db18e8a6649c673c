import type { AttestationVerifiers, RegisteredKey } from '../../packages/core/src/ports/devices.ts'
import { asTestRoots, ATTESTED_KEYS } from '../../tests/harness/attested-phones.ts'
import type { AttestedKey } from '../../tests/harness/phone.ts'
import { TestClock } from '../../tests/harness/test-clock.ts'
import { type OffLoop, timeOffLoop } from './timing.ts'

const CALLS = 300
const WARM_UP_CALLS = 20
const CHALLENGE = Buffer.alloc(32, 1).toString('base64url')

/** Verifies a registration of each attested format, through its attestation verifier. */
export async function measureRegistrations(): Promise<readonly OffLoop[]> {
  const { attestationVerifiers } = asTestRoots(new TestClock())
  const rows: OffLoop[] = []
  for (const [format, makeKey] of ATTESTED_KEYS) {
    const register = registrationOf(attestationVerifiers, makeKey())
    await timeOffLoop(format, WARM_UP_CALLS, register)
    rows.push(await timeOffLoop(`${format} registration`, CALLS, register))
  }
  return rows
}

/** @throws when the verifier rejects the key */
export async function registerWith(
  attestationVerifiers: AttestationVerifiers,
  key: AttestedKey,
): Promise<RegisteredKey> {
  const result = await registrationOf(attestationVerifiers, key)()
  if (!result.ok) throw new Error(`the registration does not verify: ${result.rejection.step}`)
  return result.value
}

/** The phone's message is built once. The benchmark repeats only the verification. */
function registrationOf(attestationVerifiers: AttestationVerifiers, key: AttestedKey) {
  const attestationVerifier = attestationVerifiers[key.format]
  if (attestationVerifier === undefined)
    throw new Error(`no attestation verifier exists for ${key.format}`)
  const request = { challenge: CHALLENGE, ...key.register(CHALLENGE) }
  // The format comes from the key. The benchmark calls only its verifier.
  return () => attestationVerifier.verify(request as never)
}
