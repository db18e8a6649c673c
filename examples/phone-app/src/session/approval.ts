import type { Handoff } from '@bonded/contract'
import {
  awaitsBrowser,
  type ClaimedSession,
  isRejection,
  type Phone,
  PhoneError,
  type PhoneSignals,
  requestOf,
  type RequiredSignals,
} from '@bonded/phone'
import type { MotionRecorder } from '../device/motion.ts'
import type { UserVerifier } from '../device/user-verifier.ts'
import { problemOf } from './problem.ts'
import type { Choice, End, Notice, Screen, Task } from './screen.ts'

/**
 * Whole seconds for a full score of the continuity model. A recording of eight seconds has them.
 */
const NEEDED_MOTION_SECONDS = 7
/** How often, and how many times at most, an approval looks whether it has them: five seconds. */
const CHECK_INTERVAL_MS = 100
const MAX_CHECKS = 50
/** How often a step-up that records motion redraws its progress. */
const PROGRESS_INTERVAL_MS = 500

/** Screens on which the session can still expire. */
const STILL_OPEN: ReadonlySet<string> = new Set(['request', 'awaiting_browser', 'approved'])

export interface ApprovalDependencies {
  readonly phone: Phone
  readonly motion: MotionRecorder
  readonly verifier: UserVerifier
  /** The text of the system's prompt, for a request of this organization. */
  readonly prompt: (tenant: string) => Parameters<UserVerifier['verify']>[0]
  readonly show: (screen: Screen) => void
  /** Resolves after this time. */
  readonly pause: (ms: number) => Promise<void>
}

/** One session on this phone, from the scanned QR code to its end. */
export interface Approval {
  choose(choice: Choice): void
  /** Whether the phone is signing or declining. Then nothing may replace the session. */
  isBusy(): boolean
  /** Stops following the session. It stays open at the service until it expires. */
  close(): void
}

/** Claims a session, and takes it to its end. A choice that does not fit has no effect. */
// oxlint-disable-next-line max-lines-per-function -- short steps of one approval, in their order
export function startApproval(handoff: Handoff, given: ApprovalDependencies): Approval {
  const { phone, motion, verifier, prompt, pause } = given
  const closing = new AbortController()
  let screen: Screen = { name: 'loading' }
  let claimed: ClaimedSession | undefined
  /** As last read while following it, which can be newer than a response on its way. */
  let followed: ClaimedSession | undefined
  let continueStepUp: (() => void) | undefined
  let isBusy = false
  let hasWaited = false

  const present = (next: Screen) => {
    if (closing.signal.aborted) return
    screen = next
    given.show(next)
  }
  const shown = () => (claimed === undefined ? null : requestOf(claimed.session))
  const presentRequest = (notice: Notice | null) => {
    const request = shown()
    if (request !== null) present({ name: 'request', request, notice })
  }
  /** Shows a session that is not over: bonded, or waiting for the page's browser or this phone. */
  const presentOpen = (known: ClaimedSession, notice: 'connection_lost' | null = null) => {
    const isNewer = followed !== undefined && followed.session.seq > known.session.seq
    claimed = isNewer ? followed : known
    if (claimed === undefined) return
    const request = requestOf(claimed.session)
    if (claimed.session.state === 'bonded') present({ name: 'approved', request })
    else if (awaitsBrowser(claimed.session)) present({ name: 'awaiting_browser', request, notice })
    else presentRequest(notice)
  }
  const working = (task: Task) => present({ name: 'working', task, request: shown() })
  const end = (kind: End) =>
    present({ name: 'ended', end: kind, tenant: shown()?.tenant_name ?? '' })
  const fail = (failure: unknown) => {
    if (isRejection(failure, 'tenant_suspended')) return end('suspended')
    const requestId = failure instanceof PhoneError ? (failure.request_id ?? null) : null
    present({ name: 'problem', problem: problemOf(failure), requestId })
  }

  const open = async () => {
    const isFirst = claimed === undefined
    working('opening')
    try {
      claimed = await phone.claim(handoff, { signal: closing.signal })
      if (isFirst) follow(claimed)
      presentOpen(claimed)
    } catch (failure) {
      fail(failure)
    }
  }

  /** The backend can have acted on an approval, and have reported nothing in time. */
  const expired = () => (screen.name === 'approved' ? 'unreported' : 'expired')

  /** Follows the session to its end, whether this phone or the backend ends it. */
  const follow = (from: ClaimedSession) => {
    const onChange = (known: ClaimedSession) => {
      followed = known
      // On every other screen, what the user does leads on.
      if (screen.name === 'awaiting_browser') presentOpen(known)
    }
    phone.waitForEnd(from, { signal: closing.signal, onChange }).then(
      (ended) => {
        if (screen.name === 'ended' || screen.name === 'problem') return
        claimed = ended
        const { state, outcome, ended_reason, reported_at } = ended.session
        const request = requestOf(ended.session)
        if (state === 'completed' || reported_at) present({ name: 'completed', request, outcome })
        else if (ended_reason === 'suspended' || ended_reason === 'decided') end(ended_reason)
        else end(state === 'expired' ? expired() : 'canceled')
      },
      (failure: unknown) => {
        if (!STILL_OPEN.has(screen.name)) return
        // The service has deleted the session, or contact is lost for longer than it lives.
        const isOver =
          isRejection(failure, 'session_not_found') ||
          ['offline', 'busy'].includes(problemOf(failure))
        // An approval stays one, and a problem can say that nothing was approved.
        if (isOver || screen.name === 'approved') end(expired())
        else fail(failure)
      },
    )
  }

  const gather = async (asked: RequiredSignals): Promise<PhoneSignals> => {
    if (asked.attempts_left !== undefined) await stepUp(asked, asked.attempts_left)
    await completeMotion()
    // The session may have ended meanwhile, and the screen says so.
    if (screen.name === 'ended') throw new PhoneError('cancelled')
    working('signing')
    const local_auth = await verifier.verify(prompt(shown()?.tenant_name ?? ''))
    // Without the user, nothing is signed.
    if (local_auth.result !== 'verified') throw new PhoneError('user_verification_failed')
    const sensor_continuity = motion.signal()
    const isComplete = motion.seconds() >= NEEDED_MOTION_SECONDS
    return {
      local_auth,
      ...(sensor_continuity === undefined ? {} : { sensor_continuity }),
      ...(isComplete
        ? {}
        : { sensor_continuity_missing: motion.isAvailable() ? 'too_short' : 'missing' }),
    }
  }

  /**
   * Waits until the recording is long enough, once a session. Without readings there is nothing to
   * wait for.
   */
  const completeMotion = async () => {
    if (hasWaited || motion.signal() === undefined) return
    hasWaited = true
    for (let check = 0; check < MAX_CHECKS; check++) {
      if (motion.seconds() >= NEEDED_MOTION_SECONDS || closing.signal.aborted) return
      if (check === 0) working('checking')
      await pause(CHECK_INTERVAL_MS)
    }
  }

  /** Shows what a step-up needs, and resolves when the user continues. */
  const stepUp = (asked: RequiredSignals, attemptsLeft: number): Promise<void> => {
    const needsMotion = asked.required.includes('sensor_continuity')
    const unsupported = asked.required.find(
      (kind) => kind === 'carrier' || (kind === 'sensor_continuity' && !motion.isAvailable()),
    )
    if (unsupported !== undefined)
      return Promise.reject(new PhoneError('step_up_unsupported', { reason: unsupported }))
    const draw = () => {
      const request = shown()
      if (request === null) return
      const kind = needsMotion ? 'motion' : 'verify_again'
      const step = { kind, attemptsLeft, seconds: motion.seconds() } as const
      present({
        name: 'step_up',
        step: { ...step, neededSeconds: NEEDED_MOTION_SECONDS },
        request,
      })
    }
    draw()
    const progress = needsMotion ? setInterval(draw, PROGRESS_INTERVAL_MS) : undefined
    return new Promise((resolve, reject) => {
      const stop = () => {
        clearInterval(progress)
        continueStepUp = undefined
      }
      continueStepUp = () => {
        stop()
        resolve()
      }
      closing.signal.addEventListener('abort', () => {
        stop()
        reject(new PhoneError('cancelled'))
      })
    })
  }

  const approve = async (from: ClaimedSession) => {
    isBusy = true
    working('signing')
    try {
      claimed = await phone.approve(from, {
        gather,
        onResponse: (known) => (claimed = known),
        onPrompt: (kind) => working(kind === 'browser_key' ? 'creating_passkey' : 'signing'),
        signal: closing.signal,
      })
      const { state, outcome } = claimed.session
      const request = requestOf(claimed.session)
      if (state === 'bonded' || awaitsBrowser(claimed.session)) presentOpen(claimed)
      else if (state === 'completed') present({ name: 'completed', request, outcome })
      else end(state === 'expired' ? 'expired' : 'not_verified')
    } catch (failure) {
      const problem = problemOf(failure)
      const isOpen = claimed?.session.state === 'pending'
      if (failure instanceof PhoneError && failure.code === 'cancelled') return
      // A key that has signed before can sign again, where the phone still has it.
      const mayRetry = problem === 'not_verified' || problem === 'phone_unsupported'
      if (mayRetry && isOpen) presentRequest('not_verified_by_user')
      else if (problem === 'offline' && isOpen) presentRequest('connection_lost')
      else if (isRejection(failure, 'policy_not_met')) end('not_verified')
      else fail(failure)
    } finally {
      isBusy = false
    }
  }

  const decline = async (from: ClaimedSession, reason: 'user_declined' | 'user_unexpected') => {
    isBusy = true
    working('declining')
    try {
      claimed = await phone.decline(from, { reason, signal: closing.signal })
      end(reason === 'user_unexpected' ? 'reported' : 'declined')
    } catch (failure) {
      if (problemOf(failure) === 'offline') presentOpen(claimed ?? from, 'connection_lost')
      else fail(failure)
    }
    isBusy = false
  }

  void open()
  return {
    choose(choice) {
      if (choice === 'continue_step_up') return continueStepUp?.()
      if (choice === 'retry' && screen.name === 'problem') return void open()
      if (claimed === undefined || isBusy) return
      if (screen.name !== 'request' && screen.name !== 'awaiting_browser') return
      if (choice === 'approve' && screen.name === 'request') void approve(claimed)
      if (choice === 'decline') void decline(claimed, 'user_declined')
      if (choice === 'report') void decline(claimed, 'user_unexpected')
    },
    isBusy: () => isBusy,
    close: () => closing.abort(),
  }
}
