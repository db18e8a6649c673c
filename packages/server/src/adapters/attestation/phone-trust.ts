import { type AndroidPolicy, GOOGLE_ROOTS } from '@bonded/attestation/android'
import type { AppleApp } from '@bonded/attestation/apple'

/** The apps whose keys may register, and the roots that their attestations chain to. Plain data. */
export interface TrustedPhones {
  readonly apple: {
    readonly apps: readonly AppleApp[]
    /** PEM. Keys under a test root become sandbox devices. */
    readonly testRoots: readonly string[]
  }
  readonly android: AndroidPolicy
  readonly webauthn: {
    /** PEM. Roots of authenticator vendors (format `packed`). */
    readonly packedRoots: readonly string[]
    readonly testRoots: readonly string[]
  }
}

/** The default: browsers may register and, for sandbox tenants, software keys. */
export const NO_APPS: TrustedPhones = {
  apple: { apps: [], testRoots: [] },
  android: {
    apps: [],
    roots: GOOGLE_ROOTS,
    testRoots: new Set(),
    minPatchLevel: null,
    ownerBootKeys: new Set(),
    userAuthenticationWithinSeconds: null,
  },
  webauthn: { packedRoots: [], testRoots: [] },
}
