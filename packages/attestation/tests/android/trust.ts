import { GOOGLE_ROOTS } from '../../src/android/google-roots.ts'
import type { AndroidPolicy } from '../../src/android/policy.ts'
import { verifyAndroidKeyAttestation } from '../../src/android/verify-key-attestation.ts'
import type { Result } from '../../src/result.ts'

/** A policy with Google's roots that tests build on. */
export const POLICY: AndroidPolicy = {
  roots: GOOGLE_ROOTS,
  testRoots: new Set(),
  apps: [],
  minPatchLevel: null,
  ownerBootKeys: new Set(),
  userAuthenticationWithinSeconds: null,
}

/** The policy with changes. */
export function policyWith(policy: Partial<AndroidPolicy> = {}): AndroidPolicy {
  return { ...POLICY, ...policy }
}

/** A time, and a policy with changes. */
export function trustAt(now: number, policy: Partial<AndroidPolicy> = {}) {
  return { now, policy: policyWith(policy) }
}

/** Verifies a chain under such a trust. */
export async function attest(
  chain: readonly Uint8Array[],
  challenge: Uint8Array,
  { now, policy }: ReturnType<typeof trustAt>,
) {
  return verifyAndroidKeyAttestation({ chain, challenge, now }, policy)
}

/** `ok`, or the step that rejected. */
export function wordOf(result: Result<unknown>): string {
  return result.ok ? 'ok' : result.step
}

/** The certificates of a PEM file as DER, in order. */
export function certificatesOf(pem: string): Buffer[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? []
  return blocks.map((block) => Buffer.from(block.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64'))
}
