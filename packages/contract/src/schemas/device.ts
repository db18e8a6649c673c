import { type Static, Type } from './type.ts'
import { BrowserKeyCredential, newPasskey } from './browser-key.ts'
import { AppAttest } from './evidence.ts'
import {
  base64url,
  Bytes32,
  closed,
  GivenTime,
  id,
  nullable,
  Timestamp,
  word,
} from './primitives.ts'

/** The attestation format of a device. Each assertion is verified by the format stored with it. */
export const DEVICE_FORMATS = ['apple-app-attest', 'android-key', 'webauthn', 'software'] as const
export const DeviceFormat = word(DEVICE_FORMATS)
export type DeviceFormat = Static<typeof DeviceFormat>

export const Environment = word(['sandbox', 'production'])
export type Environment = Static<typeof Environment>

export const DeviceStanding = word(['active', 'suspect', 'blocked', 'removed'])
export type DeviceStanding = Static<typeof DeviceStanding>

/** A tenant's pseudonym for a device. Another tenant has another one for it. */
export const DeviceRef = Type.String({
  description:
    'Your pseudonym of the phone. It stays the same, and another tenant has another one for the same phone.',
})

export const DeviceChallenge = closed({
  challenge: Bytes32,
  expires_at: Timestamp,
  rp_id: Type.String({ description: 'The relying party id of a new passkey.' }),
})
export type DeviceChallenge = Static<typeof DeviceChallenge>

/** The limit of an attestation object: 16 KiB, in base64url characters. */
const MAX_ATTESTATION_LENGTH = 21_846
/** The limit of a certificate: 8 KiB, in base64url characters. */
const MAX_CERTIFICATE_LENGTH = 10_923
/** The certificates of a chain: leaf, intermediates and root. */
const MAX_CERTIFICATES = 7

/** A key of iOS, attested by `DCAppAttestService.attestKey` over SHA-256 of the challenge. */
const appleKey = {
  format: word(['apple-app-attest']),
  challenge: Bytes32,
  key_id: Type.String({
    pattern: '^([0-9A-Za-z_-]{43}|[0-9A-Za-z+/]{43}=)$',
    maxLength: 44,
    description: 'In standard base64, as iOS returns it, or in base64url.',
  }),
  attestation_object: base64url({ min: 1, max: MAX_ATTESTATION_LENGTH }),
}

/** An Android Keystore key, generated with the challenge's bytes as attestation challenge. */
const androidKey = {
  format: word(['android-key']),
  challenge: Bytes32,
  certificate_chain: Type.Array(base64url({ min: 1, max: MAX_CERTIFICATE_LENGTH }), {
    minItems: 1,
    maxItems: MAX_CERTIFICATES,
    description:
      'DER, the leaf first and the root last, as KeyStore.getCertificateChain returns it.',
  }),
}

/** A WebAuthn key. */
const webauthnKey = {
  format: word(['webauthn']),
  challenge: Bytes32,
  registration: newPasskey({ clientData: 4_096, attestation: MAX_ATTESTATION_LENGTH }),
}

/** A software key. Only sandbox tenants accept it. */
const softwareKey = {
  format: word(['software']),
  challenge: Bytes32,
  public_key: base64url({ min: 80, max: 512 }),
}

/** The registration of a key: its format, the challenge, and the members of the format. */
export type DeviceRegistration =
  | Static<ReturnType<typeof closed<typeof appleKey>>>
  | Static<ReturnType<typeof closed<typeof androidKey>>>
  | Static<ReturnType<typeof closed<typeof webauthnKey>>>
  | Static<ReturnType<typeof closed<typeof softwareKey>>>

/** The registration of a key of one format. */
export type RegistrationOf<Format extends DeviceFormat> = Extract<
  DeviceRegistration,
  { format: Format }
>

/**
 * A registered key's assertion over `bonded-device-add/v1`. It goes with the token of that device.
 */
export const KeyApproval = closed({ issued_at: GivenTime, app_attest: AppAttest })
export type KeyApproval = Static<typeof KeyApproval>

const approval = Type.Optional(KeyApproval)
/** A browser key over the same challenge, registered with the key of the phone. */
const browser_key = Type.Optional(BrowserKeyCredential)

/**
 * Registers a key: the first one of a new subject, or, with a device token and `approval`, a
 * further one of the token's subject. The format decides which members it takes.
 */
export const RegisterDeviceRequest = Type.Unsafe<
  DeviceRegistration & {
    readonly approval?: KeyApproval
    readonly browser_key?: BrowserKeyCredential
  }
>({
  type: 'object',
  required: ['format'],
  discriminator: { propertyName: 'format' },
  oneOf: [
    closed({ ...appleKey, approval, browser_key }),
    closed({ ...androidKey, approval, browser_key }),
    closed({ ...webauthnKey, approval, browser_key }),
    closed({ ...softwareKey, approval, browser_key }),
  ],
})
export type RegisterDeviceRequest = Static<typeof RegisterDeviceRequest>

/** How long a device token is valid. The phone renews it between the two times. */
const tokenTimes = {
  device_token_renew_at: Timestamp,
  device_token_expires_at: Timestamp,
}

const device = {
  device_id: id('dev'),
  subject_id: id('sub'),
  key_id: Type.String(),
  format: DeviceFormat,
  environment: Environment,
}

/**
 * The response to a registration or a recovery, with the device token, which no other one repeats.
 */
export const RegisteredDevice = closed({
  ...device,
  device_token: Type.String(),
  ...tokenTimes,
})
export type RegisteredDevice = Static<typeof RegisteredDevice>

/**
 * Finds the device of a discoverable browser key, by an assertion over `bonded-device-recovery/v1`.
 */
export const RecoverDeviceRequest = closed({ challenge: Bytes32, app_attest: AppAttest })
export type RecoverDeviceRequest = Static<typeof RecoverDeviceRequest>

/** Requests a new device token, by an assertion over `bonded-device-token/v1`. */
export const RotateTokenRequest = closed({ issued_at: GivenTime, app_attest: AppAttest })
export type RotateTokenRequest = Static<typeof RotateTokenRequest>

/** The new token. The old one works until this one is first used. */
export const RotatedToken = closed({
  device_id: id('dev'),
  device_token: Type.String(),
  ...tokenTimes,
})
export type RotatedToken = Static<typeof RotatedToken>

/** Removes a key of the subject, by an assertion over `bonded-device-remove/v1`. */
export const RemoveDeviceRequest = closed({
  issued_at: GivenTime,
  app_attest: AppAttest,
  purpose: Type.Optional(
    word(['browser'], {
      description: 'Removes the browser key of the device only. The payload then has it too.',
    }),
  ),
})
export type RemoveDeviceRequest = Static<typeof RemoveDeviceRequest>

const state = {
  status: DeviceStanding,
  created_at: Timestamp,
  last_assertion_at: nullable(Timestamp),
}

/** The browser key of a phone, which answers in the browser that submits the form. */
const browserKey = {
  browser_key: nullable(
    closed(
      { rp_id: Type.String(), created_at: Timestamp },
      { description: 'The further passkey that this phone registered for the browser, if any.' },
    ),
  ),
}

/** A device's own record. */
export const DeviceRecord = closed({
  ...device,
  ...state,
  ...browserKey,
  device_token_expires_at: Timestamp,
  keys_changed_at: nullable(
    Type.String({
      format: 'date-time',
      description:
        'When another key of the subject was last added or removed. Show the user the list of keys.',
    }),
  ),
})
export type DeviceRecord = Static<typeof DeviceRecord>

/** One key of the caller's subject. */
export const SubjectKey = closed({
  device_id: id('dev'),
  format: DeviceFormat,
  environment: Environment,
  ...state,
  ...browserKey,
  added_by: nullable(
    Type.String({ description: 'The device that approved this key; null for the first key.' }),
  ),
  also_removes: Type.Array(id('dev'), {
    description:
      'The other keys of this list that a removal of this one removes too. Show them to the user before.',
  }),
})
export type SubjectKey = Static<typeof SubjectKey>

/** The keys of the caller's subject that were not removed, oldest first. */
export const SubjectKeys = closed({
  server_time: Timestamp,
  subject_id: id('sub'),
  keys: Type.Array(SubjectKey),
})
export type SubjectKeys = Static<typeof SubjectKeys>
