import { crc32, encodeBase62 } from './encoding.ts'

declare const brand: unique symbol
type Branded<Name extends string> = string & { readonly [brand]: Name }

export type SessionId = Branded<'SessionId'>
export type DeviceId = Branded<'DeviceId'>
export type SubjectId = Branded<'SubjectId'>
export type TenantId = Branded<'TenantId'>
export type RequestId = Branded<'RequestId'>
export type EventId = Branded<'EventId'>
export type WebhookEndpointId = Branded<'WebhookEndpointId'>
export type QuorumId = Branded<'QuorumId'>

interface Ids {
  readonly sess: SessionId
  readonly dev: DeviceId
  readonly sub: SubjectId
  readonly ten: TenantId
  readonly req: RequestId
  readonly evt: EventId
  readonly we: WebhookEndpointId
  readonly quo: QuorumId
}

/** The prefix of an id, before the underscore. */
export type IdPrefix = keyof Ids

/** 128 bits need 22 base62 digits. */
const ID_BYTES = 16
const ID_DIGITS = 22

/** The regular expression (as JSON Schema wants it) of an id with this prefix. */
export function idPattern(prefix: IdPrefix): string {
  return `^${prefix}_[0-9A-Za-z]{${ID_DIGITS}}$`
}

/**
 * An id made of 16 random bytes.
 *
 * @example makeId('sess', crypto.getRandomValues(new Uint8Array(16))) // 'sess_0r5PC…'
 */
export function makeId<P extends IdPrefix>(prefix: P, random: Uint8Array): Ids[P] {
  if (random.length !== ID_BYTES) throw new RangeError(`an id is made of ${ID_BYTES} bytes`)
  return `${prefix}_${encodeBase62(random, ID_DIGITS)}` as Ids[P]
}

/** The id, where the text has the form of one with this prefix; else undefined. */
export function parseId<P extends IdPrefix>(prefix: P, text: string): Ids[P] | undefined {
  return PATTERNS[prefix].test(text) ? (text as Ids[P]) : undefined
}

// Pure, so that a script that parses no ids does not contain them.
const PATTERNS = /* @__PURE__ */ patterns()

function patterns(): Record<IdPrefix, RegExp> {
  return {
    sess: new RegExp(idPattern('sess')),
    dev: new RegExp(idPattern('dev')),
    sub: new RegExp(idPattern('sub')),
    ten: new RegExp(idPattern('ten')),
    req: new RegExp(idPattern('req')),
    evt: new RegExp(idPattern('evt')),
    we: new RegExp(idPattern('we')),
    quo: new RegExp(idPattern('quo')),
  }
}

/** The name of a workflow or an action. */
export const PURPOSE_NAME = /^[A-Za-z0-9._-]{1,64}$/

/** A server credential: `sk_beta_` + key id + `_` + secret + CRC-32 of all before it. */
export const SERVER_CREDENTIAL = /^sk_beta_([0-9A-Za-z]{10})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/
/** A publishable key. It is not a secret. */
export const PUBLISHABLE_KEY = /^pk_beta_[0-9A-Za-z]{22}$/
/** A device token: `dt_` + token id + `_` + secret. */
export const DEVICE_TOKEN = /^dt_([0-9A-Za-z]{10})_([0-9A-Za-z]{43})$/
/** A watch token, as a browser shows it. */
export const WATCH_TOKEN = /^bwt_[0-9A-Za-z_-]{43}$/
/** The token of a link to the portal of webhooks. */
export const PORTAL_TOKEN = /^wpt_[0-9A-Za-z_-]{43}$/
/** A completion secret. */
export const COMPLETION_SECRET = /^bcs_[0-9A-Za-z_-]{43}$/

/** The six base62 digits that end a server credential. */
export function credentialChecksum(bare: string): string {
  const crc = crc32(bare)
  return encodeBase62(Uint8Array.of(crc >>> 24, crc >>> 16, crc >>> 8, crc), 6)
}

/**
 * Whether a text has the form and the checksum of a server credential. This check needs no service.
 */
export function isServerCredential(text: string): boolean {
  return SERVER_CREDENTIAL.test(text) && credentialChecksum(text.slice(0, -6)) === text.slice(-6)
}
