import { type Static, Type } from './type.ts'
import { AppAttest } from './evidence.ts'
import { base64url, Bytes32, closed, id, nullable, Timestamp, word } from './primitives.ts'

/** How a device proves its key. The verifier is chosen by the format stored at registration, never by a request. */
export const DEVICE_FORMATS = ['apple-app-attest', 'android-key', 'webauthn', 'software'] as const
export const DeviceFormat = word(DEVICE_FORMATS)
export type DeviceFormat = Static<typeof DeviceFormat>

export const Environment = word(['sandbox', 'production'])
export type Environment = Static<typeof Environment>

export const DeviceStanding = word(['active', 'suspect', 'blocked', 'removed'])
export type DeviceStanding = Static<typeof DeviceStanding>

export const DeviceChallenge = closed({ challenge: Bytes32, expires_at: Timestamp })
export type DeviceChallenge = Static<typeof DeviceChallenge>

/** What an attestation object may have: 16 KiB, in base64url. */
const MAX_ATTESTATION_LENGTH = 21_846
/** What a certificate may have: 8 KiB, in base64url. */
const MAX_CERTIFICATE_LENGTH = 10_923
/** Leaf and root, and what may stand between them. */
const MAX_CERTIFICATES = 7

/** A key of iOS, as `DCAppAttestService.attestKey` gives it for SHA-256 of the challenge's bytes. */
const AppleKey = closed({
  format: word(['apple-app-attest']),
  challenge: Bytes32,
  key_id: Type.String({
    pattern: '^([0-9A-Za-z_-]{43}|[0-9A-Za-z+/]{43}=)$',
    maxLength: 44,
    description: 'In standard base64, as iOS gives it, or in base64url.',
  }),
  attestation_object: base64url({ min: 1, max: MAX_ATTESTATION_LENGTH }),
})

/** A key of the Android keystore, made with the challenge's bytes as its attestation challenge. */
const AndroidKey = closed({
  format: word(['android-key']),
  challenge: Bytes32,
  certificate_chain: Type.Array(base64url({ min: 1, max: MAX_CERTIFICATE_LENGTH }), {
    minItems: 1,
    maxItems: MAX_CERTIFICATES,
    description: 'DER, the leaf first and the root last, as KeyStore.getCertificateChain gives it.',
  }),
})

/** A key behind a browser: what `PublicKeyCredential.toJSON()` gives. Only id, type and the two named of the response are judged. */
const WebauthnKey = closed({
  format: word(['webauthn']),
  challenge: Bytes32,
  registration: closed({
    id: base64url({ min: 1, max: 1_024 }),
    type: word(['public-key']),
    response: closed({
      clientDataJSON: base64url({ min: 1, max: 4_096 }),
      attestationObject: base64url({ min: 1, max: MAX_ATTESTATION_LENGTH }),
      authenticatorData: Type.Optional(base64url({ min: 1, max: MAX_ATTESTATION_LENGTH })),
      publicKey: Type.Optional(base64url({ min: 1, max: 1_024 })),
      publicKeyAlgorithm: Type.Optional(Type.Integer()),
      transports: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 16 })),
    }),
    rawId: Type.Optional(base64url({ min: 1, max: 1_024 })),
    authenticatorAttachment: Type.Optional(Type.String({ maxLength: 64 })),
    clientExtensionResults: Type.Optional(Type.Object({}, { additionalProperties: true })),
  }),
})

/** A key without hardware behind it: it serves sandbox tenants only. */
const SoftwareKey = closed({
  format: word(['software']),
  challenge: Bytes32,
  public_key: base64url({ min: 80, max: 512 }),
})

const keys = [AppleKey, AndroidKey, WebauthnKey, SoftwareKey]

/** Registers a key. Which members it takes is said by its format. */
export const RegisterDeviceRequest = Type.Unsafe<
  | Static<typeof AppleKey>
  | Static<typeof AndroidKey>
  | Static<typeof WebauthnKey>
  | Static<typeof SoftwareKey>
>({ type: 'object', required: ['format'], discriminator: { propertyName: 'format' }, oneOf: keys })
export type RegisterDeviceRequest = Static<typeof RegisterDeviceRequest>

/** What registers a key of one format. */
export type RegistrationOf<Format extends RegisterDeviceRequest['format']> = Extract<
  RegisterDeviceRequest,
  { format: Format }
>

const device = {
  device_id: id('dev'),
  subject_id: id('sub'),
  key_id: Type.String(),
  format: DeviceFormat,
  environment: Environment,
}

/** The answer to a registration: the only one that carries the device token. */
export const RegisteredDevice = closed({ ...device, device_token: Type.String() })
export type RegisteredDevice = Static<typeof RegisteredDevice>

/** Asks for a new device token, by an assertion over `bonded-device-token/v1`. */
export const RotateTokenRequest = closed({ issued_at: Timestamp, app_attest: AppAttest })
export type RotateTokenRequest = Static<typeof RotateTokenRequest>

/** The new token. The old one works until this one is first used. */
export const RotatedToken = closed({ device_id: id('dev'), device_token: Type.String() })
export type RotatedToken = Static<typeof RotatedToken>

export const DeviceRecord = closed({
  ...device,
  status: DeviceStanding,
  created_at: Timestamp,
  last_assertion_at: nullable(Timestamp),
})
export type DeviceRecord = Static<typeof DeviceRecord>
