import { type Static, Type } from './type.ts'
import { base64url, Bytes32, closed, CredentialId, word } from './primitives.ts'

/** The limit of the attestation object of a browser key, which has no attestation: 3 KiB. */
const MAX_UNATTESTED_LENGTH = 4_096

/**
 * A new passkey, as `PublicKeyCredential.toJSON()` returns it. The service evaluates the id, the
 * type and the two named members of the response. The limits are in base64url characters.
 */
export function newPasskey(limits: { readonly clientData: number; readonly attestation: number }) {
  return closed({
    id: CredentialId,
    type: word(['public-key']),
    response: closed({
      clientDataJSON: base64url({ min: 1, max: limits.clientData }),
      attestationObject: base64url({ min: 1, max: limits.attestation }),
      authenticatorData: Type.Optional(base64url({ min: 1, max: limits.attestation })),
      publicKey: Type.Optional(base64url({ min: 1, max: 1_024 })),
      publicKeyAlgorithm: Type.Optional(Type.Integer()),
      transports: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 16 })),
    }),
    rawId: Type.Optional(CredentialId),
    authenticatorAttachment: Type.Optional(Type.String({ maxLength: 64 })),
    clientExtensionResults: Type.Optional(Type.Object({}, { additionalProperties: true })),
  })
}

/**
 * A further, discoverable passkey of a phone. It answers in the browser that submits the form, and
 * nowhere else.
 */
export const BrowserKeyCredential = newPasskey({
  clientData: 1_024,
  attestation: MAX_UNATTESTED_LENGTH,
})
export type BrowserKeyCredential = Static<typeof BrowserKeyCredential>

/** A browser key that an assertion registers: the challenge, and the new credential. */
export const BrowserKeyRegistration = closed({
  challenge: Bytes32,
  registration: BrowserKeyCredential,
})
export type BrowserKeyRegistration = Static<typeof BrowserKeyRegistration>
