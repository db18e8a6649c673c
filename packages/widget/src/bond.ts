import { hasEnded } from '@bonded/contract'
import type { CheckedRequest, CheckedSetup } from './arguments.ts'
import type { Containment } from './container/containment.ts'
import { findContainer } from './container/find-container.ts'
import { loadChecks } from './loading/load-checks.ts'
import { createReporter } from './container/report.ts'
import { UNAVAILABLE_SCREENS } from './ended-screens.ts'
import { wantedLanguages } from './messages/language.ts'
import { loadMessages } from './messages/load.ts'
import { unavailable, type BondOutcome, type UnavailableReason } from './outcome.ts'
import { plain, screenOf } from './screen.ts'
import { findSession } from './session/find.ts'
import { cancelSession } from './session/get-session.ts'
import { type Resumption, resumptionOf } from './session/resume.ts'
import type { Snapshot } from './session/snapshot.ts'
import { watch } from './session/watch.ts'
import { readPairs } from './view/pairs.ts'
import { loadStyles } from './view/sheet.ts'
import { openView, type View } from './view/view.ts'

/** How often the widget draws the countdown. */
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
  let isSettled = false
  let stored: Resumption | undefined
  let cancel = () => close('canceled')
  let resolveOutcome!: (outcome: BondOutcome) => void
  const outcome = new Promise<BondOutcome>((resolve) => (resolveOutcome = resolve))
  const cleanUp: (() => void)[] = []

  const stop = () => {
    for (const undo of cleanUp.splice(0)) undo()
  }
  const settle = (result: BondOutcome) => {
    // A page that was left resumes the session when it is opened again.
    if (!isSettled && result.reason !== 'page_hidden') stored?.remove()
    isSettled = true
    resolveOutcome(result)
  }
  const close = (reason: UnavailableReason, screen = UNAVAILABLE_SCREENS[reason]) => {
    stop()
    // The widget keeps showing an outcome, so a page may hide the container afterwards.
    if (!isSettled) view?.show(plain(screen))
    settle(unavailable(reason))
  }

  const handlers = { cancel: () => cancel(), retry: request.onRetry }
  const view = container && openView(container, { look: setup.look, handlers })

  const run = async (on: HTMLElement, shown: View) => {
    const wanted = wantedLanguages(setup.locale, on)
    const spoken = loadMessages(wanted, setup.origin).then(shown.speak)
    // The user has just pressed a button of the page, and the work continues in the widget.
    if (navigator.userActivation?.isActive) shown.focus()
    // Without its styles, the card has another size than the one to check.
    const [checks, isStyled] = await Promise.all([
      loadChecks(setup.origin).catch(() => undefined),
      loadStyles(setup.origin),
    ])
    if (isSettled) return
    if (!checks || !isStyled) return close('network')
    shown.fitBy(checks.fitIn)
    let containment: Containment | undefined
    let report: ReturnType<typeof createReporter> | undefined
    const containerWatch = checks.watchContainer(
      { ...shown, container: on },
      {
        onContainment(changed) {
          containment = changed
          shown.veil(changed.verdict === 'breached')
          if (!isTooSmall(changed)) report?.(changed)
          if (changed.verdict === 'breached') logBreach(changed.breaches)
        },
        onLastingBreach: () =>
          close('container_hidden', containment && isTooSmall(containment) ? 'no_room' : undefined),
        onFailure: fail,
      },
    )
    cleanUp.push(containerWatch.stop)
    await containerWatch.ready
    if (isSettled) return
    const { publishableKey } = setup
    stored = await resumptionOf({ ...purpose, publishableKey })
    const found = await findSession(setup, request, stored)
    if (isSettled) {
      // The user or the page was faster than the backend: no phone shall approve this session.
      if (found.kind === 'session') void cancelSession({ address: found.address, publishableKey })
      return
    }
    if (found.kind === 'none') return close(found.reason)
    // A text in another language would move what is drawn.
    await spoken
    if (isSettled) return void cancelSession({ address: found.address, publishableKey })
    stored.save(found.address)
    shown.compare(found.pairs.length > 0 ? found.pairs : readPairs(request.context))
    report = createReporter({ address: found.address, publishableKey: setup.publishableKey })
    if (containment && !isTooSmall(containment)) report(containment)
    // The widget draws no QR code from data of the page or its backend. It draws one once the
    // service has shown this session to this page's key.
    let snapshot = found.confirmed ? found.snapshot : undefined
    let hasContact = true
    const draw = () => {
      if (snapshot?.tenant) shown.identify(snapshot.tenant)
      const screen = snapshot ? screenOf(snapshot, performance.now()) : plain('starting')
      shown.show({ ...screen, hasContact })
    }
    // The browser does not draw in between, so no QR code appears below an overlay.
    const drawChecked = () => {
      draw()
      containerWatch.check()
    }
    const update = (received: Snapshot) => {
      snapshot = received
      drawChecked()
      const result = outcomeOf(found.address.id, received)
      if (result) {
        containerWatch.stop()
        settle(result)
      }
      if (hasEnded(received.state)) stop()
    }
    const ticking = setInterval(draw, TICK_MS)
    const longest = setTimeout(() => !isSettled && close('network'), LONGEST_WAIT_MS)
    cleanUp.push(
      () => clearInterval(ticking),
      () => clearTimeout(longest),
    )
    const watching = watch({
      ...found,
      publishableKey,
      purpose,
      onSnapshot: update,
      onUnavailable: close,
      onContact(changed) {
        hasContact = changed
        draw()
      },
    })
    cleanUp.push(watching.stop)
    cancel = () => void watching.cancel()
    drawChecked()
  }
  const fail = (cause: unknown) => {
    console.error('Pulse: the widget failed.', cause)
    close('internal_error')
  }

  if (container && view) run(container, view).catch(fail)
  else {
    logBreach([container ? 'no_shadow_root' : 'missing'])
    close('container_hidden')
  }
  return { outcome, supersede: () => close('superseded') }
}

/**
 * Whether the only fault is a small box, as on a small screen. The page need not have caused it.
 */
function isTooSmall({ breaches }: Containment): boolean {
  return breaches.join() === 'too_small'
}

function logBreach(breaches: readonly string[]): void {
  console.error(
    `Pulse: the container breaks the container contract (${breaches.join(', ')}). It must stay in full view.`,
  )
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
