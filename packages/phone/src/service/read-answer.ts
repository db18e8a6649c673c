import {
  ENDPOINTS,
  firstMismatch,
  type Invitation,
  type PhoneSession,
  type RegisteredDevice,
  type RotatedToken,
  SESSION_STATES,
  type Static,
  type SubjectKeys,
  type TSchema,
  type VerifiedEvidence,
} from '@bonded/contract'
import { PhoneError } from '../errors.ts'

/** Reads the phone view of a session. @throws {PhoneError} `answer_unreadable` */
export function readSession(body: unknown): PhoneSession {
  const session = read(ENDPOINTS.claimSession.answers.phone, body)
  // The one closed list: a phone that does not know the state stops.
  if (!SESSION_STATES.includes(session.state))
    throw new PhoneError('answer_unreadable', { reason: 'state' })
  return session
}

/** Reads an invitation. @throws {PhoneError} `answer_unreadable` */
export function readInvited(body: unknown): Invitation {
  return read(ENDPOINTS.readInvitation.answers.invitation, body)
}

/** Reads the answer to a registration. @throws {PhoneError} `answer_unreadable` */
export function readRegistered(body: unknown): RegisteredDevice {
  return read(ENDPOINTS.registerDevice.answers.registered, body)
}

/** Reads the answer to a recovery. @throws {PhoneError} `answer_unreadable` */
export function readRecovered(body: unknown): RegisteredDevice {
  return read(ENDPOINTS.recoverDevice.answers.recovered, body)
}

/** Reads a registration challenge. @throws {PhoneError} `answer_unreadable` */
export function readChallenge(body: unknown): string {
  return read(ENDPOINTS.challengeDevice.answers.challenge, body).challenge
}

/** Reads the answer to a token rotation. @throws {PhoneError} `answer_unreadable` */
export function readToken(body: unknown): RotatedToken {
  return read(ENDPOINTS.rotateDeviceToken.answers.rotated, body)
}

/** Reads the keys of a subject. @throws {PhoneError} `answer_unreadable` */
export function readKeys(body: unknown): SubjectKeys {
  return read(ENDPOINTS.listKeys.answers.keys, body)
}

/**
 * Reads an evidence summary. It returns the object as received, unknown members included: the
 * service's MAC covers them.
 *
 * @throws {PhoneError} `answer_unreadable`
 */
export function readEvidence(body: unknown): VerifiedEvidence {
  return read(ENDPOINTS.fetchEvidence.answers.evidence, body).verified_evidence
}

/** The answer, once it matches the schema of the endpoint table. */
function read<S extends TSchema>(schema: S, body: unknown): Static<S> {
  const reason = firstMismatch(schema, body)
  if (reason !== undefined) throw new PhoneError('answer_unreadable', { reason })
  return body as Static<S>
}
