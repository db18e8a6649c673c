import { type Static, type TSchema, Type } from './type.ts'
import { INSTANT } from '../instant.ts'
import { type IdPrefix, idPattern, PURPOSE_NAME } from '../ids.ts'

/** An object without other members: requests reject them, and responses omit them. */
export function closed<P extends Record<string, TSchema>>(
  properties: P,
  options: { $id?: string; description?: string } = {},
) {
  return Type.Object(properties, { ...options, additionalProperties: false })
}

/**
 * The same schema, or null. It is written as `type: [T, "null"]`: for a union, the serializer would
 * validate every response to find the branch.
 */
export function nullable<S extends TSchema>(schema: S) {
  // A schema's type has no member for its keywords.
  const plain = schema as unknown as { type: string; enum?: readonly unknown[] }
  return Type.Unsafe<Static<S> | null>({
    ...schema,
    type: [plain.type, 'null'],
    ...(plain.enum ? { enum: [...plain.enum, null] } : {}),
  })
}

/** One of the given words. */
export function word<const W extends readonly string[]>(
  words: W,
  options: { description?: string } = {},
) {
  return Type.Unsafe<W[number]>({ type: 'string', enum: words, ...options })
}

/** An id with the given prefix, 22 base62 characters after it. */
export function id(prefix: IdPrefix) {
  return Type.String({ pattern: idPattern(prefix) })
}

/** The name of a workflow or an action. */
export const PurposeName = Type.String({ pattern: PURPOSE_NAME.source })

/** A time that the service writes: RFC 3339, UTC, three decimals. */
export const Timestamp = Type.String({
  format: 'date-time',
  pattern:
    '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d\\.\\d{3}Z$',
})

/** A time that a client writes: RFC 3339 in UTC, with no decimals or up to nine. */
export const GivenTime = Type.String({ format: 'date-time', pattern: INSTANT.source })

/** base64url without padding, between two lengths in characters. */
export function base64url(length: { min: number; max: number }) {
  return Type.String({ pattern: '^[0-9A-Za-z_-]*$', minLength: length.min, maxLength: length.max })
}

/** 32 bytes (a SHA-256 digest, a nonce, a MAC) in base64url. */
export const Bytes32 = base64url({ min: 43, max: 43 })

/** The id of a passkey, of 1,023 bytes at most (WebAuthn 3, section 4), in base64url. */
export const CredentialId = base64url({ min: 1, max: 1_364 })

/** A score: 0 to 1, higher is better, at most four decimals. */
export const Score = Type.Number({ minimum: 0, maximum: 1 })

/** A duration in milliseconds. */
export const Milliseconds = Type.Integer({ minimum: 0 })
