import type { KeyRegistrars, RegisteredKey } from '../../packages/service/src/ports/attestation.ts'
import { asTestRoots, ATTESTED_KEYS } from '../../packages/service/tests/harness/attested-phones.ts'
import type { AttestedKey } from '../../packages/service/tests/harness/phone.ts'
import { TestClock } from '../../packages/service/tests/harness/test-clock.ts'
import { type OffLoop, timeOffLoop } from './timing.ts'

const CALLS = 300
const WARM_UP_CALLS = 20
const CHALLENGE = Buffer.alloc(32, 1).toString('base64url')

/** A registration of each format that somebody vouches for, through its registrar. */
export async function measureRegistrations(): Promise<readonly OffLoop[]> {
  const { registrars } = asTestRoots(new TestClock())
  const rows: OffLoop[] = []
  for (const [format, makeKey] of ATTESTED_KEYS) {
    const register = registrationOf(registrars, makeKey())
    await timeOffLoop(format, WARM_UP_CALLS, register)
    rows.push(await timeOffLoop(`${format} registration`, CALLS, register))
  }
  return rows
}

/** @throws where the key is refused */
export async function registerWith(
  registrars: KeyRegistrars,
  key: AttestedKey,
): Promise<RegisteredKey> {
  const result = await registrationOf(registrars, key)()
  if (!result.ok) throw new Error(`the registration does not verify: ${result.refusal.step}`)
  return result.value
}

/** What the phone sends is made once; judging it is what is asked for again. */
function registrationOf(registrars: KeyRegistrars, key: AttestedKey) {
  const registrar = registrars[key.format]
  if (registrar === undefined) throw new Error(`nobody registers ${key.format}`)
  const request = { challenge: CHALLENGE, ...key.register(CHALLENGE) }
  // The form is the key's own; only its registrar is asked.
  return () => registrar.register(request as never)
}
