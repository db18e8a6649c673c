import { type AndroidPolicy, GOOGLE_ROOTS } from './android/policy.ts'
import type { AppleApp } from './apple/app.ts'

/** Whose phones may register, and whom to believe about them. Plain data: what the configuration comes to. */
export interface TrustedPhones {
  readonly apple: {
    readonly apps: readonly AppleApp[]
    /** PEM. Roots whose private keys anybody may hold: their phones are sandbox devices. */
    readonly testRoots: readonly string[]
  }
  readonly android: AndroidPolicy
  readonly webauthn: {
    /** PEM, of makers of authenticators (`packed`). */
    readonly packedRoots: readonly string[]
    readonly testRoots: readonly string[]
  }
}

/** Where nobody has configured an app: browsers and, in a sandbox, software keys. */
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
