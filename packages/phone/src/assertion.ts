import { type AppAttest, encodeBase64url } from '@bonded/contract'
import { concat, utf8 } from './bytes.ts'
import { PhoneError } from './errors.ts'
import type { PhoneStore, Sha256, Signer, SoftwareSigner } from './ports.ts'
import type { FoundKey, WebAuthnKey } from './signers/webauthn.ts'

/** The app id of a software key (protocol 5). */
const SOFTWARE_APP_ID = 'software'
/**
 * User present and user verified. The service checks them for `webauthn` only. Both are set because
 * both are true when the user approved.
 */
const FLAGS = 0x05
/** The counter is a UInt32. */
const LAST_COUNTER = 0xffff_ffff

/** The dependencies of signing. */
export interface Asserter {
  readonly signer: Signer
  readonly sha256: Sha256
  readonly store: PhoneStore
}

/**
 * Authenticator data of format `software`, 37 bytes: the app id's SHA-256, the flags, the counter
 * (UInt32, big-endian).
 *
 * @throws {PhoneError} `counter_exhausted` outside 1 to 2³²-1
 */
export function authenticatorData(appIdHash: Uint8Array, counter: number): Uint8Array {
  if (!Number.isInteger(counter) || counter < 1 || counter > LAST_COUNTER)
    throw new PhoneError('counter_exhausted')
  return concat(
    appIdHash,
    Uint8Array.of(
      FLAGS,
      counter >>> 24,
      (counter >>> 16) & 0xff,
      (counter >>> 8) & 0xff,
      counter & 0xff,
    ),
  )
}

/**
 * Signs a payload (`P`, or an evidence request) with the registered key and the next counter, in
 * the form of the key's format (protocol 5). The store makes the counter durable before it is used.
 */
export async function signPayload(
  asserter: Asserter,
  { payload, key }: { payload: string; key: WebAuthnKey },
): Promise<AppAttest> {
  const { signer, sha256, store } = asserter
  const { key_id } = key
  const clientDataHash = await sha256(utf8(payload))
  if (signer.format === 'webauthn') {
    const signed = await signer.assert(clientDataHash, key)
    return encodeWebAuthn(sha256, { ...signed, key_id })
  }
  const { authenticatorData: data, signature } =
    'publicKey' in signer
      ? await assertInSoftware({ signer, sha256, store }, clientDataHash)
      : await signer.assert({
          payload,
          clientDataHash,
          nextCounter: () => store.nextCounter(),
        })
  return {
    key_id,
    client_data_hash: encodeBase64url(clientDataHash),
    authenticator_data: encodeBase64url(data),
    signature: encodeBase64url(signature),
  }
}

/** A browser key's assertion as the service takes it. */
export async function encodeWebAuthn(sha256: Sha256, signed: FoundKey): Promise<AppAttest> {
  return {
    key_id: signed.key_id,
    client_data_hash: encodeBase64url(await sha256(signed.clientDataJson)),
    authenticator_data: encodeBase64url(signed.authenticatorData),
    signature: encodeBase64url(signed.signature),
    client_data_json: encodeBase64url(signed.clientDataJson),
  }
}

/** Protocol 5: the signature is over authenticator_data ‖ SHA-256(payload). */
async function assertInSoftware(
  { signer, sha256, store }: Asserter & { readonly signer: SoftwareSigner },
  clientDataHash: Uint8Array,
) {
  const data = authenticatorData(await sha256(utf8(SOFTWARE_APP_ID)), await store.nextCounter())
  return { authenticatorData: data, signature: await signer.sign(concat(data, clientDataHash)) }
}
