import { type AndroidPolicy, GOOGLE_ROOTS } from '@bonded/attestation/android'
import type { AppleApp } from '@bonded/attestation/apple'

/** The apps whose phones may register, and the roots that attest them. Plain data. */
export interface TrustedPhones {
  readonly apple: {
    readonly apps: readonly AppleApp[]
    /** PEM. Test roots: their phones are sandbox devices. */
    readonly testRoots: readonly string[]
  }
  readonly android: AndroidPolicy
  readonly webauthn: {
    /** PEM, of vendors of authenticators (`packed`). */
    readonly packedRoots: readonly string[]
    readonly testRoots: readonly string[]
  }
}

/** Without configured apps: browsers and, in a sandbox, software keys. */
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
