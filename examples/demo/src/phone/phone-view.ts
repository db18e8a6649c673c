import { requestOf } from '@bonded/phone'
import type { ShownSession } from '@bonded/simulator'

/** The gate's threshold for `continuity_score`. */
const MIN_CARRIED_SCORE = 0.6

/** The buttons of the phone. */
export const PHONE_ACTIONS = [
  'scan',
  'approve',
  'step-up',
  'not-me',
  'decline',
  'confirm',
  'retry',
] as const
export type PhoneAction = (typeof PHONE_ACTIONS)[number]

/** The screens of the phone. */
export type ScreenName =
  | 'idle'
  | 'code'
  | 'busy'
  | 'request'
  | 'step_up'
  | 'confirm_on_computer'
  | 'passkey_used'
  | 'approved'
  | 'completed'
  | 'declined'
  | 'reported'
  | 'expired'
  | 'ended'
  | 'refused'
  | 'unreachable'

/** One check of the phone or of the service. */
export interface Check {
  readonly label: string
  readonly value: string
  readonly isMet: boolean
}

/** What the phone received, made safe to show. */
export interface ReceivedRequest {
  readonly tenant: string
  /** Null until a page has presented the watch token. */
  readonly origin: string | null
  readonly pairs: readonly { readonly label: string; readonly value: string }[]
  readonly checks: readonly Check[]
  /** When the session expires, in milliseconds since the epoch, by the clock of this machine. */
  readonly expiresAtMs: number
}

/** The screen of the phone, as the page draws it. */
export interface PhoneView {
  readonly screen: ScreenName
  /** The buttons that work now. */
  readonly actions: readonly PhoneAction[]
  /** For `busy`: what the phone does. */
  readonly task?: string
  readonly request?: ReceivedRequest
  /** For `step_up`: the missing proofs. */
  readonly required?: readonly string[]
  readonly attemptsLeft?: number
  /** For `approved` and `completed`: what the service verified. */
  readonly verdict?: readonly Check[]
  /** For `refused`: the reason of the service or of this phone, and its sentence. */
  readonly rejection?: { readonly reason: string; readonly message: string }
}

/**
 * What the phone received with its claim. The phone library has made every check that is listed.
 */
export function receivedRequest(session: ShownSession): ReceivedRequest {
  const { tenant_name, requesting_origin, display, expires_in_ms } = requestOf(session)
  return {
    tenant: tenant_name,
    origin: requesting_origin,
    pairs: display,
    checks: [
      {
        label: 'QR code',
        value: `names this phone’s service, ${session.api_base_url}`,
        isMet: true,
      },
      { label: 'Session', value: 'confirmed by the service, for this QR code', isMet: true },
      {
        label: 'Page',
        value:
          requesting_origin === null
            ? 'not reported by a browser'
            : `${requesting_origin}, as its browser reports`,
        isMet: requesting_origin !== null,
      },
    ],
    expiresAtMs: Date.now() + expires_in_ms,
  }
}

/** What the service verified. Empty before the bond. */
export function verdictOf({ verification }: ShownSession): readonly Check[] {
  if (verification === null) return []
  const { device_possession, local_auth, sensor_continuity, assertion_band, browser } = verification
  const isUnlocked = local_auth === 'verified'
  const isCarried = sensor_continuity.continuity_score >= MIN_CARRIED_SCORE
  return [
    {
      label: 'Key',
      value: device_possession ? 'held by this phone' : 'not proved',
      isMet: device_possession,
    },
    {
      label: 'Screen lock',
      value: isUnlocked ? 'opened for this approval' : 'not opened for this approval',
      isMet: isUnlocked,
    },
    {
      label: 'Motion',
      value: isCarried ? 'held or worn, not lying still' : 'not enough to tell',
      isMet: isCarried,
    },
    ...(browser === undefined
      ? []
      : [
          {
            label: 'Browser',
            value: `confirmed at ${browser.origin} with this phone’s passkey`,
            isMet: true,
          },
        ]),
    { label: 'Confidence', value: `${assertion_band} overall`, isMet: assertion_band !== 'low' },
  ]
}
