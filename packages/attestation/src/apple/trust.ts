import type { AppleApp } from './app.ts'
import { type TrustAnchor, trustAnchor } from './certificate-chain.ts'
import { APP_ATTESTATION_ROOT, APPLE_ROOT_G3 } from './roots.ts'

/** The apps and roots that App Attest keys are verified against. */
export interface AppleTrust {
  readonly apps: readonly AppleApp[]
  /** Roots of App Attest certificates. */
  readonly anchors: readonly TrustAnchor[]
  /** Roots of receipts. */
  readonly receiptAnchors: readonly TrustAnchor[]
}

/**
 * Apple's own roots, and test roots whose phones are sandbox phones. Call it once: issuers under an
 * anchor are cached with the anchor.
 *
 * @param testRoots PEM
 * @throws where a test root is not a certificate
 *
 * @example
 * import { appleTrust } from '@bonded/attestation/apple'
 * import { appAttestSample as sample } from '@bonded/attestation/samples'
 *
 * const app = {
 *   appId: sample.appId,
 *   environments: ['production'],
 *   categories: [4],
 *   missing: 'allow',
 *   bundleVersions: 'any',
 * }
 * const trust = appleTrust([app], [sample.testRoot])
 * console.log(trust.anchors.map(({ environment }) => environment).join()) // production,sandbox
 */
export function appleTrust(
  apps: readonly AppleApp[],
  testRoots: readonly string[] = [],
): AppleTrust {
  const under = (root: string): TrustAnchor[] => [
    trustAnchor(root, 'production'),
    ...testRoots.map((pem) => trustAnchor(pem, 'sandbox')),
  ]
  return { apps, anchors: under(APP_ATTESTATION_ROOT), receiptAnchors: under(APPLE_ROOT_G3) }
}
