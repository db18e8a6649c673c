import type { Call } from '../../src/protocol/facts.ts'
import { type Changeable, NOW, OTHER_DEVICE } from './call-facts.ts'

type Fault = (facts: Changeable) => void

const HOUR = 60 * 60_000
const withDevice =
  (change: Partial<NonNullable<Changeable['device']>>): Fault =>
  (f) => {
    if (f.device !== undefined) Object.assign(f.device, change)
  }
const atVerifier =
  (step: string): Fault =>
  (f) => {
    f.fault = step
  }

/** What makes a call fail a check, by its step, and its reason or call where the step has two. */
const FAULTS: Readonly<Record<string, Fault>> = {
  suspended: (f) => {
    f.session.endedReason = 'tenant_suspended'
  },
  session_live: (f) => {
    f.session.state = 'killed'
  },
  approval_waits: (f) => {
    f.session.browserProof = null
  },
  'nonce challenge_expired': (f) => {
    f.nonce = 'earlier'
  },
  'nonce nonce_mismatch': (f) => {
    f.nonce = 'unknown'
  },
  unknown_key: (f) => {
    f.device = undefined
  },
  format: withDevice({ format: 'android-key' }),
  device_state: withDevice({ status: 'blocked' }),
  device_blocked: withDevice({ status: 'blocked' }),
  device_removed: withDevice({ status: 'removed' }),
  subject_blocked: withDevice({ subjectBlocked: true }),
  subject_blocked_by_tenant: (f) => {
    f.subjectBlockedHere = true
  },
  device_suspect: withDevice({ status: 'suspect' }),
  device_environment: withDevice({ environment: 'sandbox' }),
  device_format: (f) => {
    f.policy.formats = []
  },
  subject_ref: (f) => {
    f.session.wantedSubjectRef = 'subject 2'
  },
  older_phone_active: (f) => {
    f.olderPhone = true
  },
  too_many_failures: (f) => {
    f.failures = 5
  },
  webauthn_unattested: (f) => {
    f.policy.webauthn = 'attested'
  },
  key_age: (f) => {
    f.policy.minKeyAgeMs = 365 * 24 * HOUR
  },
  inbox_key_age: (f) => {
    f.policy.delivery = 'inbox'
    f.session.createdAt = f.device?.createdAt ?? NOW
  },
  pinned: (f) => {
    f.session.deviceId = OTHER_DEVICE
  },
  shows: (f) => {
    f.session.context = { display: [{ label: 'To', value: '\u200fא' }] } as never
  },
  browser_key: (f) => {
    f.policy.require = ['browser']
    withDevice({ format: 'android-key', webauthn: undefined })(f)
  },
  issued_at: (f) => {
    f.issuedAt = NOW - HOUR
  },
  local_auth: (f) => {
    f.localAuthIsAhead = true
  },
  assertion: atVerifier('a step that no row names'),
  'evidence_time browser': (f) => {
    f.session.browserProof = { approved: { evidenceUntil: NOW } } as never
  },
  'evidence_time attest': (f) => {
    f.evidenceIsCurrent = false
  },
  newly_added: withDevice({ addedBy: OTHER_DEVICE, createdAt: NOW - HOUR }),
  counter: (f) => {
    f.counterRises = false
  },
  evidence_mac: (f) => {
    f.evidenceIsOurs = false
  },
}

/** The rows of a step that a call runs twice, in their order. */
const BY_ROW: Readonly<Record<string, readonly Fault[]>> = {
  'recover challenge': [
    (f) => {
      f.challengeExpiresAt = undefined
    },
    (f) => {
      f.challengeIsUnused = false
    },
  ],
  'browser origin': [
    (f) => {
      f.pageMayProve = false
    },
    atVerifier('client_data_origin'),
  ],
  'browser credential': [
    (f) => {
      f.isItsCredential = false
    },
    atVerifier('key_id'),
  ],
  'browser client_data': [
    (f) => {
      f.clientDataIsText = false
    },
    atVerifier('client_data'),
  ],
}

const SHORT_NAMES: Readonly<Record<string, string>> = {
  type: 'client_data_type',
  challenge: 'client_data_challenge',
  cross_origin: 'client_data_cross_origin',
  rp_id: 'app_id',
}

/**
 * Returns what makes a call fail one of its rows.
 *
 * @param nth which of the call's rows with this step, from 0
 */
export function faultOf(call: Call, row: { step: string; reason: string }, nth: number): Fault {
  const { step, reason } = row
  return (
    BY_ROW[`${call} ${step}`]?.[nth] ??
    FAULTS[`${step} ${reason}`] ??
    FAULTS[`${step} ${call}`] ??
    FAULTS[step] ??
    atVerifier((call === 'browser' && SHORT_NAMES[step]) || step)
  )
}
