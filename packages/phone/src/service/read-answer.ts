import {
  parseId,
  type PhoneSession,
  type RegisteredDevice,
  SESSION_STATES,
  type SubjectKeys,
  type VerifiedEvidence,
} from '@bonded/contract'
import { PhoneError } from '../errors.ts'

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === 'string'
const isTextOrNull: Check = (value) => value === null || isText(value)
const isTime: Check = (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value))
const isTimeOrAbsent: Check = (value) => value === undefined || isTime(value)
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isListOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check)

/** What this library reads of a session. The rest is passed on as it came. */
const SESSION: Record<string, Check> = {
  id: (value) => isText(value) && parseId('sess', value as string) !== undefined,
  state: (value) => (SESSION_STATES as readonly unknown[]).includes(value),
  nonce: isText,
  api_base_url: isText,
  expires_at: isTime,
  workflow: isTextOrNull,
  action: isTextOrNull,
  tenant_id: isText,
  server_time: isTime,
  expires_in_ms: isCount,
  seq: isCount,
  tenant_name: isText,
  requesting_origin: isTextOrNull,
  context: (value) => value === null || (isRecord(value) && isListOf(isPair)(value.display)),
  step_up: (value) =>
    value === null ||
    (isRecord(value) &&
      isListOf(isText)(value.required) &&
      isCount(value.attempts_left) &&
      isListOf(isText)(value.reasons)),
  watch_token: (value) => value === undefined || isText(value),
}

const DEVICE: Record<string, Check> = {
  device_id: (value) => isText(value) && parseId('dev', value as string) !== undefined,
  subject_id: (value) => isText(value) && parseId('sub', value as string) !== undefined,
  device_token: isText,
  key_id: isText,
  device_token_renew_at: isTimeOrAbsent,
}

/** Reads the phone view of a session. @throws {PhoneError} `answer_unreadable` */
export function readSession(body: unknown): PhoneSession {
  return read(body, SESSION) as unknown as PhoneSession
}

/** Reads the answer to a registration. @throws {PhoneError} `answer_unreadable` */
export function readRegistered(body: unknown): RegisteredDevice {
  return read(body, DEVICE) as unknown as RegisteredDevice
}

/** Reads a registration challenge. @throws {PhoneError} `answer_unreadable` */
export function readChallenge(body: unknown): string {
  return read(body, { challenge: isText }).challenge as string
}

/** Reads the answer to a new token. @throws {PhoneError} `answer_unreadable` */
export function readToken(
  body: unknown,
): Pick<RegisteredDevice, 'device_token'> & { readonly device_token_renew_at?: string } {
  const checks = { device_token: isText, device_token_renew_at: isTimeOrAbsent }
  return read(body, checks) as { device_token: string; device_token_renew_at?: string }
}

/** Reads the keys of a subject. @throws {PhoneError} `answer_unreadable` */
export function readKeys(body: unknown): SubjectKeys {
  return read(body, { server_time: isTime, keys: isListOf(isKey) }) as unknown as SubjectKeys
}

/**
 * Reads an evidence summary. It is the very object that came, unknown members included: its MAC covers them.
 *
 * @throws {PhoneError} `answer_unreadable`
 */
export function readEvidence(body: unknown): VerifiedEvidence {
  const { verified_evidence } = read(body, { verified_evidence: isRecord })
  return read(verified_evidence, {
    expires_at: isTime,
    signature: isText,
  }) as unknown as VerifiedEvidence
}

const KEY: Record<string, Check> = {
  device_id: (value) => isText(value) && parseId('dev', value as string) !== undefined,
  format: isText,
  status: isText,
  created_at: isTime,
  added_by: isTextOrNull,
}

function isKey(value: unknown): boolean {
  return isRecord(value) && Object.entries(KEY).every(([name, check]) => check(value[name]))
}

function isPair(value: unknown): boolean {
  return isRecord(value) && isText(value.label) && isText(value.value)
}

function read(body: unknown, checks: Record<string, Check>): Record<string, unknown> {
  if (!isRecord(body)) throw new PhoneError('answer_unreadable', { reason: 'not_an_object' })
  for (const [name, check] of Object.entries(checks)) {
    if (!check(body[name])) throw new PhoneError('answer_unreadable', { reason: name })
  }
  return body
}
