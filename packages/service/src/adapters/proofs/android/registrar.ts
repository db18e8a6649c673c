import { hash } from 'node:crypto'
import { decodeBase64url } from '@bonded/contract'
import { accept, refuse } from '../../../domain/refusal.ts'
import type { KeyRegistrar } from '../../../ports/proofs.ts'
import { type AndroidTrust, verifyAttestedKey } from './attested-key.ts'
import { MAX_CERTIFICATES } from './chain.ts'

/** Base64url of the 8 KiB that a certificate may have. */
const MAX_CERTIFICATE_LENGTH = 10_923

/** Registers keys of the Android keystore (protocol 6). It asks Google for nothing but its list of revoked certificates. */
export function androidKeyRegistrar(trust: AndroidTrust): KeyRegistrar<'android-key'> {
  return {
    async register({ challenge, certificate_chain }) {
      // Before anything is decoded: what is too long costs nothing.
      if (
        certificate_chain.length > MAX_CERTIFICATES ||
        certificate_chain.some(({ length }) => length > MAX_CERTIFICATE_LENGTH)
      ) {
        return refuse('attestation_invalid', { step: 'chain_length' })
      }
      const challengeBytes = decodeBase64url(challenge)
      const chain = certificate_chain.flatMap((one) => decodeBase64url(one) ?? [])
      if (challengeBytes === undefined || chain.length !== certificate_chain.length)
        return refuse('attestation_invalid', { step: 'encoding' })
      const attested = await verifyAttestedKey(chain, challengeBytes, trust)
      return attested.ok
        ? accept({
            keyId: hash('sha256', attested.value.publicKey, 'base64url'),
            ...attested.value,
          })
        : attested
    },
  }
}
