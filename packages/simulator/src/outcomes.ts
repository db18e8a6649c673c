import type { PhoneError } from '@bonded/phone'
import type { Phone } from '@bonded/phone'
import type { AbortSignalLike, PhoneClock } from '@bonded/phone'
import type { ClaimedSession } from '@bonded/phone'
import type { GatherSignals } from '@bonded/phone'
import type { SimulatedPassport } from './passport/document.ts'
import { passportReader } from './passport/reader.ts'
import { simulateCarriedPhone, type Random } from './sensors.ts'

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

/** One thing that the phone did, and what came of it. */
export interface Step {
  readonly step: 'claimed' | 'answered' | 'declined' | 'replayed' | 'refused' | 'ended'
  /** The session's state, where the answer told one. */
  readonly state?: string
  readonly reason?: string
  /** HTTP status. */
  readonly status?: number
  /** What a step-up asks for. */
  readonly required?: readonly string[]
}

/** What an outcome works with. */
export interface Scene {
  readonly phone: Phone
  readonly claimed: ClaimedSession
  readonly clock: PhoneClock
  readonly random: Random
  /** The one in the drawer, if any. */
  readonly passport: SimulatedPassport | undefined
  readonly note: (step: Step) => void
  readonly signal: AbortSignalLike | undefined
  /** Sends the last assertion once more, byte by byte. */
  readonly repeatAssertion: () => Promise<{
    readonly status: number
    readonly reason?: string
    readonly state?: string
  }>
  /** Another phone, with a key of its own, that the service has just registered. */
  readonly stranger: () => Promise<Phone>
}

/** Plays an outcome on a claimed session and gives the session as it stands then. */
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
  // The phone of this scene counts wrong; see simulated-phone.ts.
  'stale-counter': (scene) => approveWith(scene, strong(scene)),
  async 'other-device'(scene) {
    const { id: session_id, nonce } = scene.claimed.session
    const stranger = await scene.stranger()
    await stranger.claim({ session_id, nonce, origin: undefined }, { signal: scene.signal })
    return scene.claimed
  },
}

/** A step for a refusal. */
export function refusedStep({ reason, status, code }: PhoneError): Step {
  return { step: 'refused', reason: reason ?? code, ...(status === undefined ? {} : { status }) }
}

function approveWith(
  { phone, claimed, note, signal }: Scene,
  gather: GatherSignals,
): Promise<ClaimedSession> {
  return phone.approve(claimed, {
    gather,
    signal,
    onAnswer: ({ session: { state, step_up } }) =>
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

function strong({ clock, random, passport }: Scene): GatherSignals {
  return ({ required }) => ({
    local_auth: { result: 'verified', method: 'biometric', at_ms: clock.now() },
    sensor_continuity: simulateCarriedPhone(random),
    // Nobody gets a passport out unasked.
    ...(passport !== undefined && required.includes('passport_chip')
      ? { passport: passportReader(passport) }
      : {}),
  })
}

function weak({ clock }: Scene): GatherSignals {
  return () => ({ local_auth: { result: 'failed', method: 'none', at_ms: clock.now() } })
}
