import { type Static, Type } from './type.ts'
import { base64url, Bytes32, closed, word } from './primitives.ts'

/** The limit of the attestation object of a browser key, which has no attestation: 3 KiB. */
const MAX_UNATTESTED_LENGTH = 4_096

/**
 * A further, discoverable passkey of a phone, as `PublicKeyCredential.toJSON()` returns it. It
 * answers in the browser that submits the form, and nowhere else.
 */
export const BrowserKeyCredential = closed({
  id: base64url({ min: 1, max: 1_024 }),
  type: word(['public-key']),
  response: closed({
    clientDataJSON: base64url({ min: 1, max: 1_024 }),
    attestationObject: base64url({ min: 1, max: MAX_UNATTESTED_LENGTH }),
    authenticatorData: Type.Optional(base64url({ min: 1, max: MAX_UNATTESTED_LENGTH })),
    publicKey: Type.Optional(base64url({ min: 1, max: 1_024 })),
    publicKeyAlgorithm: Type.Optional(Type.Integer()),
    transports: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 16 })),
  }),
  rawId: Type.Optional(base64url({ min: 1, max: 1_024 })),
  authenticatorAttachment: Type.Optional(Type.String({ maxLength: 64 })),
  clientExtensionResults: Type.Optional(Type.Object({}, { additionalProperties: true })),
})
export type BrowserKeyCredential = Static<typeof BrowserKeyCredential>

/** A browser key that an assertion registers: the challenge, and the new credential. */
export const BrowserKeyRegistration = closed({
  challenge: Bytes32,
  registration: BrowserKeyCredential,
})
export type BrowserKeyRegistration = Static<typeof BrowserKeyRegistration>
