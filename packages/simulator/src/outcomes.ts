import type { PhoneError } from '@bonded/phone'
import type { Phone } from '@bonded/phone'
import type { AbortSignalLike } from '@bonded/phone'
import type { ClaimedSession } from '@bonded/phone'
import type { GatherSignals } from '@bonded/phone'
import { type EvidenceProfile, type EvidenceSources, simulateEvidence } from './evidence.ts'

/** What a simulated phone can do with a session. */
export const OUTCOMES = [
  'approve',
  'decline',
  'not-me',
  'step-up',
  'replay',
  'stale-counter',
  'other-device',
] as const
export type Outcome = (typeof OUTCOMES)[number]

/** One action of the phone, and its result. */
export interface Step {
  readonly step: 'claimed' | 'answered' | 'declined' | 'replayed' | 'refused' | 'ended'
  /** The state of the session, if the response contains one. */
  readonly state?: string
  readonly reason?: string
  /** HTTP status. */
  readonly status?: number
  /** The requirements of a step-up. */
  readonly required?: readonly string[]
}

/** The inputs of an outcome. */
export interface Scene extends EvidenceSources {
  readonly phone: Phone
  readonly claimed: ClaimedSession
  readonly note: (step: Step) => void
  readonly signal: AbortSignalLike | undefined
  /** Sends the last assertion again, byte for byte. */
  readonly repeatAssertion: () => Promise<{
    readonly status: number
    readonly reason?: string
    readonly state?: string
  }>
  /** Registers another phone with its own key. */
  readonly stranger: () => Promise<Phone>
}

/** Plays an outcome on a claimed session. Returns the session afterwards. */
export const PLAY: Record<Outcome, (scene: Scene) => Promise<ClaimedSession>> = {
  approve: (scene) => approveWith(scene, strong(scene)),
  decline: (scene) => declineWith(scene, 'user_declined'),
  'not-me': (scene) => declineWith(scene, 'user_unexpected'),
  // Weak signals miss every policy; the step-up is then answered with strong ones.
  'step-up': (scene) =>
    approveWith(scene, (asked) =>
      asked.attempts_left === undefined ? weak(scene)(asked) : strong(scene)(asked),
    ),
  async replay(scene) {
    const bonded = await approveWith(scene, strong(scene))
    scene.note({ step: 'replayed', ...(await scene.repeatAssertion()) })
    return bonded
  },
  // simulated-phone.ts gives this phone a store that repeats the counter.
  'stale-counter': (scene) => approveWith(scene, strong(scene)),
  async 'other-device'(scene) {
    const { id: session_id, nonce } = scene.claimed.session
    const stranger = await scene.stranger()
    await stranger.claim({ session_id, nonce, origin: undefined }, { signal: scene.signal })
    return scene.claimed
  },
}

/** Converts a rejection into a step. */
export function rejectedStep({ reason, status, code }: PhoneError): Step {
  return { step: 'refused', reason: reason ?? code, ...(status === undefined ? {} : { status }) }
}

function approveWith(
  { phone, claimed, note, signal }: Scene,
  gather: GatherSignals,
): Promise<ClaimedSession> {
  return phone.approve(claimed, {
    gather,
    signal,
    onResponse: ({ session: { state, step_up } }) =>
      note({
        step: 'answered',
        state,
        ...(step_up === null ? {} : { required: step_up.required }),
      }),
  })
}

async function declineWith(
  { phone, claimed, note, signal }: Scene,
  reason: 'user_declined' | 'user_unexpected',
): Promise<ClaimedSession> {
  const ended = await phone.decline(claimed, { reason, signal })
  note({ step: 'declined', reason, state: ended.session.state })
  return ended
}

function strong(scene: Scene): GatherSignals {
  return withProfile(scene, 'carried')
}

function weak(scene: Scene): GatherSignals {
  return withProfile(scene, 'locked')
}

function withProfile(scene: Scene, profile: EvidenceProfile): GatherSignals {
  return ({ required }) => simulateEvidence(profile, scene, required)
}
