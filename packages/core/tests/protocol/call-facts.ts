import type { DeviceId, SessionId, SubjectId, TenantId } from '@bonded/contract'
import type { Policy } from '../../src/domain/policy.ts'
import { accept, reject } from '../../src/domain/rejection.ts'
import type { Device, Session } from '../../src/domain/session.ts'
import type { Tenant } from '../../src/domain/tenant.ts'
import type { Call } from '../../src/protocol/facts.ts'

export const NOW = Date.parse('2026-11-26T12:00:00.000Z')
const NAMES = { session: 'bps_1' as SessionId, device: 'dev_1' as DeviceId }
const DAY = 24 * 60 * 60_000

/** Facts that pass every check of every call, to be changed in one place. */
export interface Changeable {
  now: number
  session: { -readonly [M in keyof Session]: Session[M] }
  policy: { -readonly [M in keyof Policy]: Policy[M] }
  device: { -readonly [M in keyof Device]: Device[M] } | undefined
  tenant: { -readonly [M in keyof Tenant]: Tenant[M] }
  nonce: 'accepted' | 'earlier' | 'unknown'
  subjectBlockedHere: boolean
  olderPhone: boolean
  failures: number
  shows: string[]
  issuedAt: number
  localAuthIsAhead: boolean
  /** The step at which the verifier of the key's format rejects the assertion. */
  fault: string | undefined
  counterRises: boolean
  challengeIsUnused: boolean
  challengeExpiresAt: number | undefined
  evidenceIsOurs: boolean
  evidenceIsCurrent: boolean
  pageMayProve: boolean
  isItsCredential: boolean
  clientDataIsText: boolean
}

/** Returns facts of a call that pass each of its checks. */
export function passingFacts(call: Call): Changeable {
  const isBrowser = call === 'browser'
  return {
    now: NOW,
    policy: {
      formats: ['webauthn', 'android-key'],
      suspectDevices: 'refuse',
      webauthn: 'any',
      passport: 'none',
      require: isBrowser ? ['browser'] : [],
    } as unknown as Policy,
    session: {
      id: NAMES.session,
      tenantId: 'ten_1' as TenantId,
      state: isBrowser ? 'step_up_required' : 'pending',
      createdAt: NOW - 60_000,
      expiresAt: NOW + 240_000,
      deviceId: isBrowser ? NAMES.device : null,
      wantedSubjectRef: null,
      sealedPhoneNumber: null,
      context: null,
      quorumId: null,
      browserProof: isBrowser ? { approved: { evidenceUntil: NOW + 60_000 } } : null,
    } as unknown as Session,
    device: {
      id: NAMES.device,
      subjectId: 'sub_1' as SubjectId,
      format: 'webauthn',
      environment: 'production',
      status: 'active',
      createdAt: NOW - 30 * DAY,
      addedBy: null,
      webauthn: { attested: false, backupEligible: true },
    } as unknown as Device,
    tenant: { environment: 'production' } as Tenant,
    nonce: 'accepted',
    subjectBlockedHere: false,
    olderPhone: false,
    failures: 0,
    shows: [],
    issuedAt: NOW,
    localAuthIsAhead: false,
    fault: undefined,
    counterRises: true,
    challengeIsUnused: true,
    challengeExpiresAt: NOW + 60_000,
    evidenceIsOurs: true,
    evidenceIsCurrent: true,
    pageMayProve: true,
    isItsCredential: true,
    clientDataIsText: true,
  }
}

/** The facts as the checks read them, and what a check has written by the end of a run. */
export function factsOf(given: Changeable) {
  const written: string[] = []
  const write = (what: string, holds: boolean) =>
    // A unit of work, as the store's ports are.
    (function* () {
      yield what
      written.push(what)
      return holds
    })()
  const facts = {
    ...given,
    session: { ...given.session, policy: given.policy },
    subjectRef: 'subject 1',
    knownAs: undefined,
    continuity: undefined,
    hasCompleted: false,
    nonceStanding: () => given.nonce,
    isLatestNonce: () => true,
    bringsBrowserKey: false,
    isItself: false,
    assertion: () =>
      given.fault === undefined
        ? accept({ counter: 1, userVerified: true })
        : reject('assertion_invalid', { step: given.fault }),
    raiseCounter: () => write('counter', given.counterRises),
    useChallenge: () => write('challenge', given.challengeIsUnused),
    evidenceIsOurs: () => given.evidenceIsOurs,
  }
  return { facts: facts, written }
}

/** Another phone than the one of the facts. */
export const OTHER_DEVICE = 'dev_other' as DeviceId
