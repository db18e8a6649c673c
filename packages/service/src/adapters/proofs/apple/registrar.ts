import { hash } from 'node:crypto'
import { decodeBase64url } from '@bonded/contract'
import { accept, refuse } from '../../../domain/refusal.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { KeyRegistrar } from '../../../ports/proofs.ts'
import type { AppleApp } from './app.ts'
import { type TrustAnchor, trustAnchor } from './chain.ts'
import { readKeyId } from './key-id.ts'
import { APP_ATTESTATION_ROOT, APPLE_ROOT_G3 } from './roots.ts'
import { type AppleTrust, verifyAttestation } from './verify-attestation.ts'

/** Apple's own roots, and those of a test setup, whose phones are sandbox phones. */
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

/** Registers keys that App Attest vouches for (protocol 6). */
export function appleRegistrar({
  trust,
  clock,
}: {
  trust: AppleTrust
  clock: Pick<Clock, 'now'>
}): KeyRegistrar<'apple-app-attest'> {
  return {
    async register(request) {
      const keyId = readKeyId(request.key_id)
      const attestationObject = decodeBase64url(request.attestation_object)
      const challenge = decodeBase64url(request.challenge)
      if (keyId === undefined || attestationObject === undefined || challenge === undefined)
        return refuse('attestation_invalid', { step: 'encoding' })
      const clientDataHash = hash('sha256', challenge, 'buffer')
      const facts = {
        attestationObject: Buffer.from(attestationObject),
        keyId,
        clientDataHash,
        now: clock.now(),
      }
      const attested = verifyAttestation(facts, trust)
      if (!attested.ok) return attested
      const { publicKey, appId, environment, category, bundleVersion, receipt } = attested.value
      // Spelled anew: two spellings of one key id must not be two keys.
      return accept({
        keyId: keyId.toString('base64url'),
        publicKey,
        appId,
        environment,
        build: { category, bundleVersion },
        receipt,
      })
    },
  }
}
