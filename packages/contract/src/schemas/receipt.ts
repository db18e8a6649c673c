import { type Static, Type } from './type.ts'
import { SessionContext } from './context.ts'
import { DeviceFormat, DeviceRef } from './device.ts'
import { base64url, closed, id, nullable, PurposeName, Timestamp, word } from './primitives.ts'
import { CompletionOutcome } from './session.ts'
import { PulseVerification } from './verification.ts'
import { Titles } from './workflow.ts'

/** The `typ` of a receipt's header. */
export const RECEIPT_TYPE = 'bonded-receipt+jwt'

/** What the phone signed, and with which key. */
export const ReceiptPhone = closed({
  format: DeviceFormat,
  public_key: Type.String({ description: 'The key of the phone: SPKI, DER, base64url.' }),
  payload: Type.String({ description: 'P: the text that the phone signed (protocol 5).' }),
  authenticator_data: base64url({ min: 50, max: 2048 }),
  signature: base64url({ min: 11, max: 200 }),
  client_data_json: Type.Optional(base64url({ min: 1, max: 4096 })),
})

/** The claims of a receipt (protocol 13). */
export const ReceiptClaims = closed({
  iss: Type.String({ description: 'The public origin of the service.' }),
  aud: id('ten'),
  iat: Type.Integer({ description: 'When the receipt was made, in seconds since the epoch.' }),
  jti: Type.String({
    description: '128 random bits, which make the hash of a receipt unguessable.',
  }),
  environment: word(['sandbox', 'production']),
  state: word(['bonded', 'completed']),
  session_id: id('sess'),
  workflow: PurposeName,
  action: PurposeName,
  /** What the phone showed, and signed the hash of. */
  context: nullable(SessionContext),
  tenant_name: Type.String(),
  workflow_title: nullable(Titles),
  action_title: nullable(Titles),
  requesting_origin: nullable(Type.String()),
  subject_ref: nullable(Type.String()),
  device_ref: Type.Optional(DeviceRef),
  verification: PulseVerification,
  device_format: DeviceFormat,
  created_at: Timestamp,
  bonded_at: Timestamp,
  completed_at: nullable(Timestamp),
  outcome: nullable(CompletionOutcome),
  log_origin: Type.String({ description: 'The log that this receipt is appended to.' }),
  log_delay_seconds: Type.Integer({
    description: 'The log has the receipt within this time after `iat`.',
  }),
  phone: ReceiptPhone,
})
export type ReceiptClaims = Static<typeof ReceiptClaims>

/** The response to a request for a receipt. */
export const Receipt = closed({
  receipt: Type.String({
    description:
      'A compact JWS (EdDSA) of type `bonded-receipt+jwt`. Its keys are at /.well-known/jwks.json.',
  }),
  proof: nullable(
    Type.String({
      description:
        'The proof that the log has the receipt (c2sp.org/tlog-proof), with the latest checkpoint. Null until it is appended.',
    }),
  ),
})
export type Receipt = Static<typeof Receipt>
