import type { Handoff } from '@bonded/contract'
import {
  type ClaimedSession,
  isRefusal,
  type Phone,
  PhoneError,
  type PhoneSignals,
  requestOf,
  type ShownRequest,
  type RequiredSignals,
} from '@bonded/phone'
import type { DeviceStore } from './device-store.ts'
import type { MotionRecorder } from './motion.ts'
import { problemOf } from './problem.ts'
import type { Choice, End, Notice, Screen, StepUpStep, Task } from './screen.ts'

/** Seconds of motion for a full score of the continuity model. */
const NEEDED_MOTION_SECONDS = 30
/** How often a step-up that records motion redraws its progress. */
const PROGRESS_INTERVAL_MS = 500

export interface AppDependencies {
  readonly phone: Phone
  readonly store: DeviceStore
  readonly motion: MotionRecorder
  readonly handoff: Handoff
  /** Opens the operator's app with this session; null where none is configured. */
  readonly appLink: string | null
  readonly show: (screen: Screen) => void
}

/** The controller of the page: it receives the user's choices. */
export interface App {
  choose(choice: Choice): void
}

/**
 * Takes one session from its link to its end. The controller holds one claimed session and one
 * screen; every choice that does not fit the screen is ignored, so a double tap has no effect.
 */
export function startApp(dependencies: AppDependencies): App {
  const { phone, store, motion, handoff, appLink, show } = dependencies
  let screen: Screen = { name: 'loading' }
  let claimed: ClaimedSession | undefined
  let continueStepUp: (() => void) | undefined
  let hasDecided = false

  const present = (next: Screen) => {
    screen = next
    show(next)
  }
  const shown = (): ShownRequest | null =>
    claimed === undefined ? null : requestOf(claimed.session)
  const presentRequest = (notice: Notice | null) => {
    const request = shown()
    if (request !== null) present({ name: 'request', request, notice })
  }
  const busyWith = (task: Task) => present({ name: 'working', task, request: shown() })
  const fail = (failure: unknown) => {
    const requestId = failure instanceof PhoneError ? (failure.request_id ?? null) : null
    present({ name: 'problem', problem: problemOf(failure), requestId })
  }
  const end = (kind: End) =>
    present({ name: 'ended', end: kind, tenant: shown()?.tenant_name ?? '' })

  /** Registers where necessary, and claims the session. */
  const open = async (task: Task) => {
    busyWith(task)
    try {
      claimed = await phone.claim(handoff)
      watchForEnd(claimed)
      presentRequest(null)
    } catch (failure) {
      fail(failure)
    }
  }

  /** Follows the session to its end, whether the phone or the backend ends it. */
  const watchForEnd = (from: ClaimedSession) => {
    phone.waitForEnd(from).then(
      (ended) => {
        claimed = ended
        if (screen.name === 'ended') return
        const request = requestOf(ended.session)
        if (ended.session.state === 'completed') present({ name: 'completed', request })
        else end(endOf(ended))
      },
      // The service has purged the session, or contact is lost for longer than it lives.
      () => {
        if (screen.name === 'request' || screen.name === 'approved') end('expired')
      },
    )
  }

  const gather = async (asked: RequiredSignals): Promise<PhoneSignals> => {
    if (asked.attempts_left !== undefined) await stepUp(asked, asked.attempts_left)
    busyWith('signing')
    const sensor_continuity = motion.signal()
    return {
      // The assertion's user verification flag is the proof; a page's own word counts for nothing.
      local_auth: { result: 'failed', method: 'none', at_ms: performance.now() },
      ...(sensor_continuity === undefined ? {} : { sensor_continuity }),
    }
  }

  /** Shows what a step-up needs, and resolves when the user continues. */
  const stepUp = (asked: RequiredSignals, attemptsLeft: number): Promise<void> => {
    const needsMotion = asked.required.includes('sensor_continuity')
    const access = motion.access()
    if (asked.required.includes('carrier'))
      return Promise.reject(new PhoneError('step_up_unsupported', { reason: 'carrier' }))
    if (needsMotion && (access === 'unavailable' || access === 'denied'))
      return Promise.reject(new PhoneError('step_up_unsupported', { reason: 'sensor_continuity' }))
    const draw = () => {
      const request = shown()
      if (request === null) return
      const step: StepUpStep = {
        kind: needsMotion ? 'motion' : 'verify_again',
        attemptsLeft,
        seconds: motion.seconds(),
        neededSeconds: NEEDED_MOTION_SECONDS,
        motionAccess: motion.access() === 'needs_permission' ? 'needs_permission' : 'recording',
      }
      present({ name: 'step_up', step, request })
    }
    draw()
    const progress = needsMotion ? setInterval(draw, PROGRESS_INTERVAL_MS) : undefined
    return new Promise((resolve) => {
      continueStepUp = () => {
        clearInterval(progress)
        continueStepUp = undefined
        resolve()
      }
    })
  }

  const approve = async (from: ClaimedSession) => {
    hasDecided = true
    busyWith('signing')
    try {
      claimed = await phone.approve(from, {
        gather,
        onAnswer: (known) => (claimed = known),
      })
      const request = requestOf(claimed.session)
      if (claimed.session.state === 'bonded') present({ name: 'approved', request })
      else if (claimed.session.state === 'completed') present({ name: 'completed', request })
      else end(claimed.session.state === 'expired' ? 'expired' : 'not_verified')
    } catch (failure) {
      hasDecided = false
      const problem = problemOf(failure)
      const isOpen = claimed?.session.state === 'pending'
      if (problem === 'passkey_missing' && isOpen) presentRequest('not_verified_by_user')
      else if (problem === 'offline' && isOpen) presentRequest('connection_lost')
      else if (isRefusal(failure, 'policy_not_met')) end('not_verified')
      else fail(failure)
    }
  }

  const decline = async (from: ClaimedSession, reason: 'user_declined' | 'user_unexpected') => {
    hasDecided = true
    busyWith('declining')
    try {
      claimed = await phone.decline(from, { reason })
      end(reason === 'user_unexpected' ? 'reported' : 'declined')
    } catch (failure) {
      hasDecided = false
      if (problemOf(failure) === 'offline') presentRequest('connection_lost')
      else fail(failure)
    }
  }

  const start = async () => {
    present({ name: 'loading' })
    try {
      if ((await store.device()) === undefined) present({ name: 'setup', appLink })
      else await open('opening')
    } catch (failure) {
      fail(failure)
    }
  }

  const act: Readonly<Record<Choice, () => void>> = {
    set_up: () => void (screen.name === 'setup' && open('setting_up')),
    approve: () => void (claimed !== undefined && isDeciding() && approve(claimed)),
    decline: () =>
      void (claimed !== undefined && isDeciding() && decline(claimed, 'user_declined')),
    report: () =>
      void (claimed !== undefined && isDeciding() && decline(claimed, 'user_unexpected')),
    continue_step_up: () => continueStepUp?.(),
    allow_motion: () => void motion.requestAccess().then(redraw, fail),
    retry: () => void (screen.name === 'problem' && start()),
    set_up_again: () =>
      void (
        screen.name === 'problem' &&
        store.forget().then(() => present({ name: 'setup', appLink }), fail)
      ),
  }
  const isDeciding = () => screen.name === 'request' && !hasDecided
  const redraw = () => {
    if (screen.name === 'request') presentRequest(screen.notice)
  }

  void start()
  return { choose: (choice) => act[choice]() }
}

/** How a session ended that this phone did not end itself. */
function endOf({ session }: ClaimedSession): End {
  return session.state === 'expired' ? 'expired' : 'canceled'
}
