import {
  awaitsBrowser,
  type ClaimedSession,
  isRejection,
  type Phone,
  PhoneError,
  requestOf,
  type ShownRequest,
} from '@bonded/phone'
import type { Moment, ProblemKind } from './failures.ts'
import { createPause } from './pause.ts'
import { needOf, problemOf } from './problem.ts'
import type { Recovery } from './recovery.ts'
import type { End, Notice, ProblemScreen, Screen, Task } from './screen.ts'
import type { TabMemory } from './tab.ts'

export interface StageDependencies {
  readonly phone: Phone
  readonly tab: TabMemory
  readonly recovery: Recovery
  /** The page's own address, for a browser that cannot use passkeys. */
  readonly link: string
  /** Opens the operator's app with this session; null where none is configured. */
  readonly appLink: string | null
  readonly show: (screen: Screen) => void
}

/** The one session and the one screen of the page. All tasks share it. */
export class Stage {
  screen: Screen = { name: 'loading' }
  claimed: ClaimedSession | undefined
  /** Whether the key that signed last is synced to other devices. */
  isSynced = false
  /** The point at which a task waits for its user. */
  readonly untilContinued = createPause()
  /** Opens the link anew, after an outage. */
  onBack: () => void = () => {}
  readonly #dependencies: StageDependencies
  #watching = new AbortController()

  constructor(dependencies: StageDependencies) {
    this.#dependencies = dependencies
  }

  present(next: Screen): void {
    const { show, recovery } = this.#dependencies
    this.screen = next
    show(next)
    if (next.name === 'problem' && isPassing(next.problem)) recovery.await(() => this.onBack())
    else if ('notice' in next && next.notice === 'connection_lost')
      recovery.await(() => void this.#refresh())
    else recovery.stop()
  }

  /** The request, with the time that is left now. */
  request(): ShownRequest | null {
    const { claimed } = this
    if (claimed === undefined) return null
    const request = requestOf(claimed.session)
    const elapsedMs = performance.now() - claimed.server_time.read_at_ms
    return { ...request, expires_in_ms: Math.max(0, request.expires_in_ms - elapsedMs) }
  }

  presentRequest(notice: Notice | null): void {
    const { claimed } = this
    const request = this.request()
    if (claimed === undefined || request === null) return
    const isAnother = this.#dependencies.tab.isAnotherRequest(claimed.session.id)
    this.present({ name: 'request', request, notice, isAnother })
  }

  busyWith(task: Task): void {
    this.present({ name: 'working', task, request: this.request() })
  }

  presentProblem(problem: ProblemKind, facts: Partial<ProblemScreen> = {}): void {
    const { link, appLink } = this.#dependencies
    this.present({ name: 'problem', problem, need: null, requestId: null, link, appLink, ...facts })
  }

  fail(failure: unknown, moment?: Moment): void {
    if (isRejection(failure, 'tenant_suspended')) return this.end('suspended')
    const requestId = failure instanceof PhoneError ? (failure.request_id ?? null) : null
    this.presentProblem(problemOf(failure, moment), { need: needOf(failure), requestId })
  }

  end(end: End): void {
    this.#watching.abort()
    const { session } = this.claimed ?? {}
    // The backend can have acted on the approval, and have reported nothing in time.
    if (end === 'expired' && session?.reported_at === null) {
      if (this.screen.name !== 'unreported')
        this.present({ name: 'unreported', request: requestOf(session), isSynced: false })
      this.#lookLater()
    } else this.present({ name: 'ended', end, tenant: this.request()?.tenant_name ?? '' })
    this.untilContinued.cancel()
  }

  /** A late report changes no state, so nothing announces it. */
  #lookLater(): void {
    const { claimed } = this
    setTimeout(() => this.claimed === claimed && void this.#refresh(), REPORT_POLL_MS)
  }

  /** The user has left the session. */
  leave(): void {
    this.#watching.abort()
    this.claimed = undefined
  }

  /** Shows a session in the state that the service returned. A reopened link may find any state. */
  presentClaimed(known: ClaimedSession): void {
    const { state, outcome, reported_at } = known.session
    if (state === 'completed' || reported_at) {
      const request = requestOf(known.session)
      return this.present({ name: 'completed', request, outcome })
    }
    if (state === 'killed' || state === 'expired') return this.end(endOf(known))
    this.#watchForEnd(known)
    this.#presentLive(known)
  }

  #presentLive(known: ClaimedSession): void {
    const request = requestOf(known.session)
    if (known.session.state === 'bonded')
      this.present({ name: 'approved', request, isSynced: this.isSynced })
    else this.presentOpen(noticeOf(known))
  }

  /** Shows a session that is neither bonded nor over: the phone or the page's browser is next. */
  presentOpen(notice: Notice | null): void {
    const request = this.request()
    if (this.claimed === undefined || request === null) return
    const isLost = notice === 'connection_lost'
    if (awaitsBrowser(this.claimed.session))
      this.present({ name: 'awaiting_browser', request, notice: isLost ? notice : null })
    else this.presentRequest(notice)
  }

  /** Follows the session to its end, whether the phone or the backend ends it. */
  #watchForEnd(from: ClaimedSession): void {
    this.#watching.abort()
    this.#watching = new AbortController()
    const { signal } = this.#watching
    const onChange = (known: ClaimedSession) => {
      // On every other screen, what the user does leads on.
      if (this.screen.name !== 'awaiting_browser') return
      this.claimed = known
      this.#presentLive(known)
    }
    this.#dependencies.phone.waitForEnd(from, { signal, onChange }).then(
      (ended) => {
        if (signal.aborted) return
        this.claimed = ended
        this.presentClaimed(ended)
        this.untilContinued.cancel()
      },
      (failure: unknown) => {
        const { name } = this.screen
        if (signal.aborted || !STILL_OPEN.has(name)) return
        // The service has purged the session, or contact is lost for longer than it lives.
        const isOver = isRejection(failure, 'session_not_found') || isPassing(problemOf(failure))
        // An approval stays one, and a problem can say that nothing was approved.
        if (isOver || name === 'approved') return this.end('expired')
        this.fail(failure)
        this.untilContinued.cancel()
      },
    )
  }

  /**
   * Shows the session as it is after an outage: the service may have received an approval whose
   * response was lost.
   */
  async #refresh(): Promise<void> {
    const { claimed } = this
    if (claimed === undefined) return
    const outcome = await this.#dependencies.phone.getSession(claimed).then(
      (known) => () => {
        this.claimed = known
        this.presentClaimed(known)
      },
      (failure: unknown) => () =>
        this.screen.name === 'unreported' ? this.#lookLater() : this.fail(failure),
    )
    // The user may have decided meanwhile, or opened another request.
    if (this.claimed === claimed && UNDECIDED.has(this.screen.name)) outcome()
  }
}

/** Problems that end without the user. */
export const isPassing = (problem: ProblemKind) => problem === 'offline' || problem === 'busy'
/** How often the phone looks for a late report: far below a device's rate limit. */
const REPORT_POLL_MS = 15_000
/** Screens on which the page waits for its user, or for the backend. */
const UNDECIDED: ReadonlySet<string> = new Set(['request', 'awaiting_browser', 'unreported'])
const STILL_OPEN: ReadonlySet<string> = new Set([
  ...UNDECIDED,
  'step_up',
  'browser_key',
  'note',
  'approved',
])
/** The phone approved, and then the page's browser did not confirm. */
const NOT_CONFIRMED: ReadonlySet<string> = new Set(['evidence_expired', 'browser_proof_failed'])

/** What a session that waits for this phone again says about the time before. */
function noticeOf({ session: { step_up } }: ClaimedSession): Notice | null {
  const isRepeated = step_up?.reasons.some((reason) => NOT_CONFIRMED.has(reason)) ?? false
  return isRepeated ? 'browser_not_confirmed' : null
}

/** How a session ended that this page did not end itself. */
function endOf({ session }: ClaimedSession): End {
  if (session.ended_reason === 'suspended') return 'suspended'
  return session.state === 'expired' ? 'expired' : 'canceled'
}
