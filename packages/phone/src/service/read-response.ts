// The schemas themselves, not the endpoint table: a page that imports this would load all of it.
import {
  DeviceChallenge,
  EvidenceResponse,
  firstMismatch,
  Inbox,
  InboxCount,
  Invitation,
  PhoneSession,
  RegisteredDevice,
  RotatedToken,
  SESSION_STATES,
  SessionContext,
  type Static,
  SubjectKeys,
  type TSchema,
  type VerifiedEvidence,
} from '@bonded/contract'
import { PhoneError } from '../errors.ts'

/** Reads the phone view of a session. @throws {PhoneError} `answer_unreadable` */
export function readSession(body: unknown): PhoneSession {
  const session = read(PhoneSession, body)
  // The one closed list: a phone that does not know the state stops.
  if (!SESSION_STATES.includes(session.state))
    throw new PhoneError('answer_unreadable', { reason: 'state' })
  // The phone signs the whole context, so it ignores no member of it.
  if (!isKnown(SessionContext as Shape, session.context))
    throw new PhoneError('answer_unreadable', { reason: 'context' })
  return session
}

interface Shape {
  readonly items?: Shape
  readonly properties?: Readonly<Record<string, Shape>>
}

/** Whether a schema has every member of a value. */
function isKnown(shape: Shape | undefined, value: unknown): boolean {
  if (shape === undefined) return false
  if (Array.isArray(value)) return value.every((item) => isKnown(shape.items, item))
  if (typeof value !== 'object' || value === null) return true
  const known = new Map(Object.entries(shape.properties ?? {}))
  return Object.entries(value).every(([name, member]) => isKnown(known.get(name), member))
}

/** Reads an invitation. @throws {PhoneError} `answer_unreadable` */
export function readInvited(body: unknown): Invitation {
  return read(Invitation, body)
}

/** Reads the response to a registration. @throws {PhoneError} `answer_unreadable` */
export function readRegistered(body: unknown): RegisteredDevice {
  return read(RegisteredDevice, body)
}

/** Reads the response to a recovery. @throws {PhoneError} `answer_unreadable` */
export function readRecovered(body: unknown): RegisteredDevice {
  return read(RegisteredDevice, body)
}

/** Reads a registration challenge. @throws {PhoneError} `answer_unreadable` */
export function readChallenge(body: unknown): DeviceChallenge {
  return read(DeviceChallenge, body)
}

/** Reads the response to a token rotation. @throws {PhoneError} `answer_unreadable` */
export function readToken(body: unknown): RotatedToken {
  return read(RotatedToken, body)
}

/** Reads the keys of a subject. @throws {PhoneError} `answer_unreadable` */
export function readKeys(body: unknown): SubjectKeys {
  return read(SubjectKeys, body)
}

/** Reads how many requests wait. @throws {PhoneError} `answer_unreadable` */
export function readInboxCount(body: unknown): InboxCount {
  return read(InboxCount, body)
}

/** Reads a page of the inbox. @throws {PhoneError} `answer_unreadable` */
export function readInbox(body: unknown): Inbox {
  return read(Inbox, body)
}

/**
 * Reads an evidence summary. It returns the object as received, unknown members included: the
 * service's MAC covers them.
 *
 * @throws {PhoneError} `answer_unreadable`
 */
export function readEvidence(body: unknown): VerifiedEvidence {
  return read(EvidenceResponse, body).verified_evidence
}

/** The response, once it matches the schema. */
function read<S extends TSchema>(schema: S, body: unknown): Static<S> {
  const reason = firstMismatch(schema, body)
  if (reason !== undefined) throw new PhoneError('answer_unreadable', { reason })
  return body as Static<S>
}
