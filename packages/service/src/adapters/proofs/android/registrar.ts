import { hash } from 'node:crypto'
import { decodeBase64url } from '@bonded/contract'
import { accept, refuse } from '../../../domain/refusal.ts'
import type { KeyRegistrar } from '../../../ports/proofs.ts'
import { type AndroidTrust, verifyAttestedKey } from './attested-key.ts'

/** The part of a registration of format `android-key` that is judged here. */
export interface AndroidKeyRegistration {
  /** Base64url of the 32 bytes that the phone passed to `setAttestationChallenge`. */
  readonly challenge: string
  /** DER in base64url, leaf first, root last. */
  readonly certificate_chain: readonly string[]
}

/** Registers keys of the Android keystore (protocol 6). It asks Google for nothing but its list of revoked certificates. */
export function androidKeyRegistrar(trust: AndroidTrust): KeyRegistrar<AndroidKeyRegistration> {
  return {
    async register({ challenge, certificate_chain }) {
      const challengeBytes = decodeBase64url(challenge)
      const chain = certificate_chain.flatMap((one) => decodeBase64url(one) ?? [])
      if (challengeBytes === undefined || chain.length !== certificate_chain.length) return refuse('attestation_invalid', { step: 'encoding' })
      const attested = await verifyAttestedKey(chain, challengeBytes, trust)
      return attested.ok ? accept({ keyId: hash('sha256', attested.value.publicKey, 'base64url'), ...attested.value }) : attested
    },
  }
}
