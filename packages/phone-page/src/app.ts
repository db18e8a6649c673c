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
import { needOf, problemOf } from './problem.ts'
import type { Choice, End, Notice, Screen, Task } from './screen.ts'
import { stepFor } from './step-up.ts'
import type { TabMemory } from './tab.ts'
import { createPause } from './pause.ts'

export interface AppDependencies {
  readonly phone: Phone
  readonly store: DeviceStore
  readonly motion: MotionRecorder
  readonly tab: TabMemory
  readonly handoff: Handoff
  /** Opens the operator's app with this session; null where none is configured. */
  readonly appLink: string | null
  readonly show: (screen: Screen) => void
  /** Runs an act while no other tab of this browser runs one. */
  readonly alone: <T>(act: () => Promise<T>) => Promise<T>
}

/** The controller of the page: it receives the user's choices. */
export interface App {
  choose(choice: Choice): void
  /** The browser is connected again. */
  reconnect(): void
  /** Resolves when the phone may prompt its user for a signature. */
  beforeSigning(): Promise<void>
  /** A key has signed. */
  onSigned(key: { readonly isSynced: boolean }): void
}

/**
 * Takes one session from its link to its end. The controller holds one claimed session and one
 * screen; every choice that does not fit the screen is ignored, so a double tap has no effect.
 */
export function startApp(dependencies: AppDependencies): App {
  const { phone, store, motion, tab, handoff, appLink, show, alone } = dependencies
  const untilContinued = createPause()
  let screen: Screen = { name: 'loading' }
  let claimed: ClaimedSession | undefined
  let watching = new AbortController()
  let isSynced = false
  /** Whether the user has carried the phone for a step-up of this session. */
  let hasCarried = false

  const present = (next: Screen) => {
    screen = next
    show(next)
  }
  const shown = (): ShownRequest | null => {
    if (claimed === undefined) return null
    const request = requestOf(claimed.session)
    const elapsedMs = performance.now() - claimed.server_time.read_at_ms
    return { ...request, expires_in_ms: Math.max(0, request.expires_in_ms - elapsedMs) }
  }
  const presentRequest = (notice: Notice | null) => {
    const request = shown()
    if (request === null) return
    const isAnother = tab.isAnotherRequest(handoff.session_id)
    present({ name: 'request', request, notice, isAnother })
  }
  const busyWith = (task: Task) => present({ name: 'working', task, request: shown() })
  const fail = (failure: unknown) => {
    const requestId = failure instanceof PhoneError ? (failure.request_id ?? null) : null
    present({ name: 'problem', problem: problemOf(failure), need: needOf(failure), requestId })
  }
  const end = (kind: End) => {
    watching.abort()
    present({ name: 'ended', end: kind, tenant: shown()?.tenant_name ?? '' })
    untilContinued.cancel()
  }

  /** Registers where necessary, and claims the session. */
  const open = async (task: Task) => {
    busyWith(task)
    try {
      // Two tabs would otherwise create two passkeys, and only one of them could approve.
      await alone(async () =>
        phone.register(
          (await store.device()) === undefined ? await phone.readInvitation(handoff) : undefined,
        ),
      )
      claimed = await phone.claim(handoff)
      presentClaimed(claimed)
    } catch (failure) {
      fail(failure)
    }
  }

  /** Shows a session in the state that the service returned. A reopened link may find any state. */
  const presentClaimed = (known: ClaimedSession) => {
    const { state } = known.session
    if (state === 'killed' || state === 'expired') return end(endOf(known))
    const request = requestOf(known.session)
    if (state === 'completed') return present({ name: 'completed', request })
    watchForEnd(known)
    if (state === 'bonded') present({ name: 'approved', request, isSynced })
    else presentRequest(null)
  }

  /** Follows the session to its end, whether the phone or the backend ends it. */
  const watchForEnd = (from: ClaimedSession) => {
    watching.abort()
    watching = new AbortController()
    const { signal } = watching
    phone.waitForEnd(from, { signal }).then(
      (ended) => {
        if (signal.aborted) return
        claimed = ended
        presentClaimed(ended)
        untilContinued.cancel()
      },
      // The service has purged the session, or contact is lost for longer than it lives.
      () => {
        if (!signal.aborted && STILL_OPEN.has(screen.name)) end('expired')
      },
    )
  }

  const gather = async (asked: RequiredSignals): Promise<PhoneSignals> => {
    if (asked.attempts_left !== undefined) {
      const step = stepFor(asked.required, { attemptsLeft: asked.attempts_left, hasCarried })
      const request = shown()
      if (request !== null) present({ name: 'step_up', step, request })
      await untilContinued()
      hasCarried ||= step.kind === 'motion'
    }
    busyWith('signing')
    const sensor_continuity = motion.signal()
    return {
      // The assertion's user verification flag is the proof; a page's own word counts for nothing.
      local_auth: { result: 'failed', method: 'none', at_ms: performance.now() },
      ...(sensor_continuity === undefined ? {} : { sensor_continuity }),
    }
  }

  const approve = async (from: ClaimedSession) => {
    busyWith('signing')
    try {
      claimed = await phone.approve(from, {
        gather,
        onAnswer: (known) => (claimed = known),
      })
      presentClaimed(claimed)
    } catch (failure) {
      const problem = problemOf(failure)
      const isOpen = claimed !== undefined && OPEN_STATES.has(claimed.session.state)
      // The user declined during a step-up, or the session ended meanwhile: the screen says so.
      if (isCancelled(failure) || OVER.has(screen.name)) return
      if (problem === 'passkey_missing' && isOpen) presentRequest('not_verified_by_user')
      else if (problem === 'offline' && isOpen) presentRequest('connection_lost')
      else if (isRefusal(failure, 'policy_not_met')) end('not_verified')
      else fail(failure)
    }
  }

  const decline = async (from: ClaimedSession, reason: 'user_declined' | 'user_unexpected') => {
    busyWith('declining')
    untilContinued.cancel()
    try {
      claimed = await phone.decline(from, { reason })
      end(reason === 'user_unexpected' ? 'reported' : 'declined')
    } catch (failure) {
      if (OVER.has(screen.name)) return
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

  const mayDecline = () =>
    screen.name === 'request' ||
    screen.name === 'step_up' ||
    (screen.name === 'problem' && screen.problem === 'app_required')
  const act: Readonly<Record<Choice, () => void>> = {
    set_up: () => void (screen.name === 'setup' && open('setting_up')),
    approve: () => void (claimed !== undefined && screen.name === 'request' && approve(claimed)),
    decline: () =>
      void (claimed !== undefined && mayDecline() && decline(claimed, 'user_declined')),
    report: () =>
      void (claimed !== undefined && mayDecline() && decline(claimed, 'user_unexpected')),
    continue: () => {
      if (screen.name === 'step_up' || screen.name === 'renew') untilContinued.end()
    },
    allow_motion: () => void motion.requestAccess().then(redraw, fail),
    retry: () => void (screen.name === 'problem' && start()),
    set_up_again: () =>
      void (
        screen.name === 'problem' &&
        store.forget().then(() => present({ name: 'setup', appLink }), fail)
      ),
  }
  const redraw = () => {
    if (screen.name === 'request') presentRequest(screen.notice)
    else if (screen.name === 'step_up') show(screen)
  }

  void start()
  return {
    choose: (choice) => act[choice](),
    reconnect() {
      if (screen.name === 'problem' && screen.problem === 'offline') void start()
    },
    async beforeSigning() {
      // While it opens a request, the phone signs to renew its token: a prompt that approves
      // nothing, so the page explains it first. Some browsers also require a tap.
      if (screen.name !== 'working' || screen.task !== 'opening') return
      present({ name: 'renew' })
      await untilContinued()
      busyWith('opening')
    },
    onSigned(key) {
      ;({ isSynced } = key)
    },
  }
}

const OPEN_STATES: ReadonlySet<string> = new Set(['pending', 'step_up_required'])
const STILL_OPEN: ReadonlySet<string> = new Set(['request', 'step_up', 'approved'])
const OVER: ReadonlySet<string> = new Set(['ended', 'completed'])

function isCancelled(failure: unknown): boolean {
  return failure instanceof PhoneError && failure.code === 'cancelled'
}

/** How a session ended that this page did not end itself. */
function endOf({ session }: ClaimedSession): End {
  return session.state === 'expired' ? 'expired' : 'canceled'
}
