import { createPassportAuthority, createPassportChip, createPassport } from '@bonded/simulator'
import { keyringOf } from '../../packages/server/src/adapters/keys/keyring.ts'
import { passportVerifier } from '../../packages/server/src/adapters/attestation/passport/passport-verifier.ts'
import { ROOT_KEY } from '../../tests/harness/harness.ts'
import { TestClock } from '../../tests/harness/test-clock.ts'
import { passportSignal } from '../passports.ts'
import { type OffLoop, timeOffLoop } from './timing.ts'

const CALLS = 200
/** Waits until the first worker has started and loaded its code. */
const WARM_UP_CALLS = 20
const NONCE = 'n'.repeat(43)

/** Verifies a passport of a simulated state up to the chip, through the port, on worker threads. */
export async function measurePassports(): Promise<readonly OffLoop[]> {
  const clock = new TestClock()
  const state = createPassportAuthority(clock.now())
  const trust = { production: [], sandbox: [state.countryCertificate] }
  await using verifier = passportVerifier({ trust, keys: keyringOf([ROOT_KEY]), clock })
  const rows: OffLoop[] = []
  for (const kind of ['rsa', 'ecdsa'] as const) {
    const passport = passportSignal(
      createPassport(state, { chip: createPassportChip({ kind }) }),
      NONCE,
    )
    const judge = async () => {
      const judged = await verifier.verify({ passport, nonce: NONCE, environment: 'sandbox' })
      return { ok: judged.ok && judged.value.tier === 'chip' }
    }
    await timeOffLoop(kind, WARM_UP_CALLS, judge)
    rows.push(await timeOffLoop(`passport with an ${kind.toUpperCase()} chip`, CALLS, judge))
  }
  return rows
}
