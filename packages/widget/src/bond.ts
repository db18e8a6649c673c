import { hasEnded } from '@bonded/contract'
import type { CheckedRequest, CheckedSetup } from './arguments.ts'
import { breachOf, findContainer, settledBreachOf } from './container-contract.ts'
import { UNAVAILABLE_SCREENS } from './ended-screens.ts'
import { wantedLanguages } from './messages/language.ts'
import { loadMessages } from './messages/load.ts'
import { unavailable, type BondOutcome, type UnavailableReason } from './outcome.ts'
import { plain, screenOf } from './screen.ts'
import { findSession } from './session/find.ts'
import { deleteAddress, saveAddress } from './session/resume.ts'
import type { Snapshot } from './session/snapshot.ts'
import { watch } from './session/watch.ts'
import { readPairs } from './view/pairs.ts'
import { loadStyles } from './view/sheet.ts'
import { openView, type View } from './view/view.ts'

/** How often the widget checks the container and draws the countdown. */
const TICK_MS = 1_000
/** Longer than any session can stay pending (900 s), so that the promise settles in any case. */
export const LONGEST_WAIT_MS = 960_000

/** One bond of a page, from its request to its outcome and its completion. */
export interface Bond {
  readonly outcome: Promise<BondOutcome>
  /** Ends this bond in favor of another. An open outcome becomes `unavailable`. */
  readonly supersede: () => void
}

/** Starts a bond. Its outcome always resolves and never rejects. */
export function startBond(setup: CheckedSetup, request: CheckedRequest): Bond {
  const purpose = { workflow: setup.workflow, ...request }
  const container = findContainer(setup.containerId)
  const view = container && openView(container, setup.look)
  let isSettled = false
  let resolveOutcome!: (outcome: BondOutcome) => void
  const outcome = new Promise<BondOutcome>((resolve) => (resolveOutcome = resolve))
  const cleanUp: (() => void)[] = []

  const stop = () => {
    for (const undo of cleanUp.splice(0)) undo()
  }
  const settle = (result: BondOutcome) => {
    if (!isSettled) deleteAddress(purpose)
    isSettled = true
    resolveOutcome(result)
  }
  const close = (reason: UnavailableReason) => {
    stop()
    // The widget keeps showing an outcome, so a page may hide the container afterwards.
    if (!isSettled) view?.show(plain(UNAVAILABLE_SCREENS[reason]))
    settle(unavailable(reason))
  }

  const run = async (on: HTMLElement, shown: View) => {
    const wanted = wantedLanguages(setup.locale, on)
    void loadMessages(wanted, setup.origin).then(shown.speak)
    // The user has just pressed a button of the page, and the work continues in the widget.
    if (navigator.userActivation?.isActive) shown.focus()
    const breach = await settledBreachOf(on)
    if (isSettled) return
    if (breach) return closeForBreach(breach)
    const found = await findSession(setup, request)
    if (isSettled) return
    if (found.kind === 'none') return close(found.reason)
    if (!(await loadStyles(setup.origin))) return close('network')
    if (isSettled) return
    saveAddress(purpose, found.address)
    shown.compare(found.pairs.length > 0 ? found.pairs : readPairs(request.context))
    // The widget draws no QR code from data of the page or its backend. It draws one once the
    // service has shown this session to this page's key.
    let snapshot = found.confirmed ? found.snapshot : undefined
    const draw = () => {
      if (snapshot?.tenant) shown.identify(snapshot.tenant)
      shown.show(snapshot ? screenOf(snapshot, performance.now()) : plain('starting'))
    }
    const tick = () => {
      const broken = isSettled ? undefined : (breachOf(on) ?? (shown.isCut() && 'too_small'))
      if (broken) closeForBreach(broken)
      else draw()
    }
    const update = (received: Snapshot) => {
      snapshot = received
      draw()
      const result = outcomeOf(found.address.id, received)
      if (result) settle(result)
      if (hasEnded(received.state)) stop()
    }
    const ticking = setInterval(tick, TICK_MS)
    const longest = setTimeout(() => !isSettled && close('network'), LONGEST_WAIT_MS)
    cleanUp.push(
      () => clearInterval(ticking),
      () => clearTimeout(longest),
    )
    cleanUp.push(
      watch({
        ...found,
        publishableKey: setup.publishableKey,
        purpose,
        onSnapshot: update,
        onUnavailable: close,
      }),
    )
    tick()
  }
  const closeForBreach = (breach: string) => {
    console.error(
      `Pulse: the container breaks the container contract (${breach}). It must stay displayed, visible, opaque, interactive, unscaled and on the page.`,
    )
    close('container_hidden')
  }

  if (container && view)
    run(container, view).catch((cause: unknown) => {
      console.error('Pulse: the widget failed.', cause)
      close('internal_error')
    })
  else closeForBreach(container ? 'no_shadow_root' : 'missing')
  return { outcome, supersede: () => close('superseded') }
}

/** The outcome for the page; undefined while the phone can still answer. */
function outcomeOf(sessionId: string, { state, endedReason }: Snapshot): BondOutcome | undefined {
  if (state === 'bonded') return { state, sessionId }
  if (state === 'pending' || state === 'step_up_required') return undefined
  return {
    state,
    sessionId: null,
    ...(state === 'killed' && endedReason ? { reason: endedReason } : {}),
  }
}
