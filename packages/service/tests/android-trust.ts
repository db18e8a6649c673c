import { GOOGLE_ROOTS, type AndroidPolicy } from '../src/adapters/proofs/android/policy.ts'
import type { AndroidTrust } from '../src/adapters/proofs/android/attested-key.ts'
import type { Result } from '../src/domain/refusal.ts'
import type { Clock } from '../src/ports/clock.ts'
import type { RevocationList } from '../src/ports/revocations.ts'

/** The policy of the tests: Google's roots, the recorder's and the simulated phone's apps. */
export const POLICY: AndroidPolicy = {
  roots: GOOGLE_ROOTS,
  testRoots: new Set(),
  apps: [],
  minPatchLevel: null,
  ownerBootKeys: new Set(),
  userAuthenticationWithinSeconds: null,
}

/** Nobody was revoked. */
export const NOBODY_REVOKED: RevocationList = { judge: async () => 'good' }

/** A clock that shows one time. */
export function clockAt(now: number): Clock {
  return { now: () => now, schedule: () => () => {} }
}

export function trustAt(now: number, policy: Partial<AndroidPolicy> = {}): AndroidTrust {
  return { policy: { ...POLICY, ...policy }, revocations: NOBODY_REVOKED, clock: clockAt(now) }
}

/** A verdict in a word: `ok`, the step that refused, or the reason where there is no step. */
export function wordOf(result: Result<unknown>): string {
  return result.ok ? 'ok' : (result.refusal.step ?? result.refusal.reason)
}

/** The certificates of a PEM file as DER, in order. */
export function certificatesOf(pem: string): Buffer[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? []
  return blocks.map((block) => Buffer.from(block.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64'))
}
