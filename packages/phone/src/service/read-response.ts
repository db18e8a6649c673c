import {
  type DeviceChallenge,
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
  const session = read(ENDPOINTS.claimSession.responses.phone, body)
  // The one closed list: a phone that does not know the state stops.
  if (!SESSION_STATES.includes(session.state))
    throw new PhoneError('answer_unreadable', { reason: 'state' })
  return session
}

/** Reads an invitation. @throws {PhoneError} `answer_unreadable` */
export function readInvited(body: unknown): Invitation {
  return read(ENDPOINTS.readInvitation.responses.invitation, body)
}

/** Reads the response to a registration. @throws {PhoneError} `answer_unreadable` */
export function readRegistered(body: unknown): RegisteredDevice {
  return read(ENDPOINTS.registerDevice.responses.registered, body)
}

/** Reads the response to a recovery. @throws {PhoneError} `answer_unreadable` */
export function readRecovered(body: unknown): RegisteredDevice {
  return read(ENDPOINTS.recoverDevice.responses.recovered, body)
}

/** Reads a registration challenge. @throws {PhoneError} `answer_unreadable` */
export function readChallenge(body: unknown): DeviceChallenge {
  return read(ENDPOINTS.challengeDevice.responses.challenge, body)
}

/** Reads the response to a token rotation. @throws {PhoneError} `answer_unreadable` */
export function readToken(body: unknown): RotatedToken {
  return read(ENDPOINTS.rotateDeviceToken.responses.rotated, body)
}

/** Reads the keys of a subject. @throws {PhoneError} `answer_unreadable` */
export function readKeys(body: unknown): SubjectKeys {
  return read(ENDPOINTS.listKeys.responses.keys, body)
}

/**
 * Reads an evidence summary. It returns the object as received, unknown members included: the
 * service's MAC covers them.
 *
 * @throws {PhoneError} `answer_unreadable`
 */
export function readEvidence(body: unknown): VerifiedEvidence {
  return read(ENDPOINTS.fetchEvidence.responses.evidence, body).verified_evidence
}

/** The response, once it matches the schema of the endpoint table. */
function read<S extends TSchema>(schema: S, body: unknown): Static<S> {
  const reason = firstMismatch(schema, body)
  if (reason !== undefined) throw new PhoneError('answer_unreadable', { reason })
  return body as Static<S>
}
