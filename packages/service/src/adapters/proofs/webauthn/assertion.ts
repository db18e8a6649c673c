import { hash } from 'node:crypto'
import { type AppAttest, decodeBase64url } from '@bonded/contract'
import { accept, type Result, refuse } from '../../../domain/refusal.ts'
import type { Device } from '../../../domain/session.ts'
import type { AssertionVerifier, VerifiedAssertion } from '../../../ports/proofs.ts'
import { publicKeyOf } from '../public-keys.ts'
import { isSignatureOf } from '../x509/public-key.ts'
import { readAuthenticatorData } from './authenticator-data.ts'
import { badClientData } from './client-data.ts'

/**
 * Assertions of format `webauthn` (protocol 5). Written here and not taken from the library, which imports the key
 * anew each time and answers through promises: this runs at every bond.
 *
 * @param origin the service's own
 */
export function webauthnVerifier({ origin }: { origin: string }): AssertionVerifier {
  return {
    verify: ({ device, payload, appAttest }) =>
      verifyWebauthn(appAttest, {
        device,
        origin,
        challenge: hash('sha256', payload, 'base64url'),
      }),
  }
}

/** Verifies an assertion over a challenge, from a page of the origin. */
export function verifyWebauthn(
  appAttest: AppAttest,
  {
    device,
    challenge,
    origin,
  }: {
    device: Pick<Device, 'keyId' | 'publicKey' | 'appId' | 'webauthn'>
    challenge: string
    origin: string
  },
): Result<VerifiedAssertion> {
  const no = (step: string) => refuse('assertion_invalid', { step })
  // 1. The key is the registered one, and all parts are there.
  if (appAttest.key_id !== device.keyId) return no('key_id')
  const clientData = decodeBase64url(appAttest.client_data_json ?? '')
  const authenticatorData = decodeBase64url(appAttest.authenticator_data)
  const signature = decodeBase64url(appAttest.signature)
  if (clientData === undefined || authenticatorData === undefined || signature === undefined)
    return no('encoding')
  // 2. The hash is of the client data as decoded; the one sent is only compared.
  const clientDataHash = hash('sha256', clientData, 'buffer')
  if (clientDataHash.toString('base64url') !== appAttest.client_data_hash)
    return no('client_data_hash')
  // 3. The client data was made by our own page, for the payload rebuilt here.
  const bad = badClientData(clientData, { type: 'webauthn.get', challenge, origin })
  if (bad !== undefined) return no(bad)
  // 4. The signature.
  const key = publicKeyOf(device)
  if (key === undefined) return no('public_key')
  const message = Buffer.concat([authenticatorData, clientDataHash])
  if (!isSignatureOf({ message, digest: 'sha256', signature, key })) return no('signature')
  // 5. The authenticator: our RP ID, a person present and verified.
  const read = readAuthenticatorData(authenticatorData)
  if (read === undefined) return no('authenticator_data')
  if (!hash('sha256', device.appId, 'buffer').equals(read.rpIdHash)) return no('app_id')
  if (!read.userPresent) return no('user_present')
  if (!read.userVerified) return no('user_verified')
  // 6. Whether a key may be copied is settled when it is made; only one that may be can have been.
  if (read.backedUp && !read.backupEligible) return no('backup_flags')
  if (device.webauthn !== undefined && device.webauthn.backupEligible !== read.backupEligible)
    return no('backup_flags')
  return accept({ counter: read.counter, userVerified: true })
}
