import { hash, type KeyObject, sign } from 'node:crypto'
import { authenticatorData } from '@bonded/phone'
import type { PlatformSigner } from '@bonded/phone'
import { androidAppId, honestDescription, SIMULATED_APP } from './android/description.ts'
import { createAppAssertion, attestKey } from './app-attest/attested-key.ts'
import { publicHalf } from './test-pki/key.ts'
import { SIMULATED_APPLE_APP, type TestAuthority } from './test-authority.ts'

/** The inputs of a signer. They are functions because a key can be replaced. */
interface Keeper {
  readonly key: () => Promise<KeyObject>
  readonly authority: () => TestAuthority
  readonly now: () => number | Promise<number>
}

/** Signs as an iPhone does. The state store counts instead of the Secure Enclave. */
export function appleSigner({ key, authority, now }: Keeper): PlatformSigner {
  const { team_id, bundle_id, category, bundleVersion } = SIMULATED_APPLE_APP
  const app = { appId: `${team_id}.${bundle_id}`, extensions: { category, bundleVersion } }
  return {
    format: 'apple-app-attest',
    async attest(challenge) {
      const of = {
        authority: authority().apple,
        privateKey: await key(),
        clientDataHash: sha256(challenge),
        now: await now(),
      }
      const { keyId, attestationObject } = attestKey({ ...app, environment: 'production' }, of)
      return { key_id: keyId, attestation_object: attestationObject.toString('base64url') }
    },
    async assert({ clientDataHash, nextCounter }) {
      return createAppAssertion(app, {
        privateKey: await key(),
        counter: await nextCounter(),
        clientDataHash,
      })
    },
  }
}

/** Signs as an Android phone with a trusted execution environment and a verified boot does. */
export function androidSigner({ key, authority }: Omit<Keeper, 'now'>): PlatformSigner {
  return {
    format: 'android-key',
    async attest(challenge) {
      const chain = authority().android.attest(
        publicHalf(await key()),
        honestDescription(challenge),
      )
      return { certificate_chain: chain.map((certificate) => certificate.toString('base64url')) }
    },
    async assert({ clientDataHash, nextCounter }) {
      const data = authenticatorData(sha256(androidAppId(SIMULATED_APP)), await nextCounter())
      return {
        authenticatorData: data,
        signature: sign('sha256', Buffer.concat([data, clientDataHash]), await key()),
      }
    },
  }
}

function sha256(data: string | Uint8Array): Buffer {
  return hash('sha256', data, 'buffer')
}
