import {
  awaitsBrowser,
  type ClaimedSession,
  type Declining,
  isRejection,
  type Phone,
  PhoneError,
  type PhoneSignals,
  type RequiredSignals,
} from '@bonded/phone'
import { type EvidenceAhead, signalsOf } from './evidence-ahead.ts'
import type { Moment } from './failures.ts'
import type { MotionRecorder } from './motion.ts'
import { afterPrompt, problemOf } from './problem.ts'
import type { Task } from './screen.ts'
import type { Stage } from './stage.ts'
import { stepFor } from './step-up.ts'

/** Carries out what the user decides about the request. */
export interface Deciding {
  approve(from: ClaimedSession): Promise<void>
  decline(from: ClaimedSession, declining: Declining): Promise<void>
}

interface DecidingDependencies {
  readonly phone: Phone
  readonly motion: MotionRecorder
  readonly evidence: Pick<EvidenceAhead, 'take'>
}

export function createDeciding(
  stage: Stage,
  { phone, motion, evidence }: DecidingDependencies,
): Deciding {
  /** Whether the user has carried the phone for a step-up of this session. */
  let hasCarried = false
  let isFirst = true
  let moment: Moment = 'approve'

  const gather = async (asked: RequiredSignals): Promise<PhoneSignals> => {
    if (asked.attempts_left !== undefined) {
      const step = stepFor(asked.required, { attemptsLeft: asked.attempts_left, hasCarried })
      const request = stage.request()
      if (step.kind === 'motion') motion.restart()
      if (request !== null) stage.present({ name: 'step_up', step, request })
      await stage.untilContinued()
      hasCarried ||= step.kind === 'motion'
    }
    const ahead = await evidence.take()
    if (ahead === undefined) await motion.complete(() => stage.busyWith('checking'))
    // The session may have ended meanwhile, and the screen says so.
    if (OVER.has(stage.screen.name)) throw new PhoneError('cancelled')
    stage.busyWith('signing')
    return ahead ?? signalsOf(motion)
  }

  /** An attested passkey is not discoverable, so the phone creates a second one for the browser. */
  const onPrompt = async (prompt: 'browser_key' | 'approval') => {
    const request = stage.request()
    moment = prompt === 'approval' ? 'approve' : 'add_key'
    if (prompt === 'approval' || request === null) return
    stage.present({ name: 'browser_key', request })
    await stage.untilContinued()
    stage.busyWith('signing')
  }

  const explain = (failure: unknown) => {
    const isOpen = stage.claimed !== undefined && OPEN_STATES.has(stage.claimed.session.state)
    if (isOpen && afterPrompt(failure, moment, isFirst) === 'ask') {
      isFirst = false
      stage.presentRequest('not_verified_by_user')
    } else if (isOpen && problemOf(failure) === 'offline') stage.presentRequest('connection_lost')
    else if (isRejection(failure, 'policy_not_met')) stage.end('not_verified')
    else stage.fail(failure, moment)
  }

  return {
    async approve(from) {
      try {
        const open = await undecided('signing', { from, stage, phone })
        if (open === undefined) return
        stage.claimed = await phone.approve(open, {
          gather,
          onResponse: (known) => (stage.claimed = known),
          onPrompt,
        })
        stage.presentClaimed(stage.claimed)
      } catch (failure) {
        // The user declined during a step-up, or the session ended meanwhile: the screen says so.
        if (!isCancelled(failure) && !OVER.has(stage.screen.name)) explain(failure)
      }
    },
    async decline(from, declining) {
      stage.untilContinued.cancel()
      try {
        const open = await undecided('declining', { from, stage, phone })
        if (open === undefined) return
        stage.claimed = await phone.decline(open, declining)
        stage.end(declining.reason === 'user_unexpected' ? 'reported' : 'declined')
      } catch (failure) {
        if (OVER.has(stage.screen.name)) return
        if (problemOf(failure) === 'offline') stage.presentOpen('connection_lost')
        else stage.fail(failure)
      }
    },
  }
}

/**
 * The session to decide on. The service may have received an earlier decision whose response was
 * lost; then there is nothing left to decide, and the page shows the session instead.
 */
async function undecided(
  task: Task,
  { from, stage, phone }: { from: ClaimedSession; stage: Stage; phone: Phone },
): Promise<ClaimedSession | undefined> {
  const { screen } = stage
  stage.busyWith(task)
  if (!('notice' in screen) || screen.notice !== 'connection_lost') return from
  const known = await phone.getSession(from)
  stage.claimed = known
  const isForBrowser = task !== 'declining' && awaitsBrowser(known.session)
  if (OPEN_STATES.has(known.session.state) && !isForBrowser) return known
  stage.presentClaimed(known)
  return undefined
}

const OPEN_STATES: ReadonlySet<string> = new Set(['pending', 'step_up_required'])
const OVER: ReadonlySet<string> = new Set(['ended', 'completed'])

function isCancelled(failure: unknown): boolean {
  return failure instanceof PhoneError && failure.code === 'cancelled'
}
