import type { CheckedRequest, CheckedSetup } from './arguments.ts'
import {
  type BondEffect,
  type BondEvent,
  type BondState,
  INITIAL_BOND,
  reduceBond,
} from './bond-reducer.ts'
import { missingCsp } from './csp.ts'
import { findContainer } from './container/find-container.ts'
import type { ContainerWatch } from './container/watch-container.ts'
import { createReporter } from './container/report.ts'
import { type Checks, loadChecks } from './loading/load-checks.ts'
import { loadProof } from './loading/load-proof.ts'
import { type Performers, runReducer } from './reducer.ts'
import { wantedLanguages } from './messages/language.ts'
import { loadMembers, loadMessages, unpack } from './messages/load.ts'
import { type BondOutcome, unavailable, type UnavailableReason } from './outcome.ts'
import { removeSecret, storedSecret } from './session/browser-secret.ts'
import { findSession } from './session/find.ts'
import { ask, cancelSession } from './session/get-session.ts'
import { type Resumption, resumptionOf } from './session/resume.ts'
import { watch, type Watching } from './session/watch.ts'
import { refuse, unfitness } from './unfit.ts'
import { readPairs } from './view/pairs.ts'
import { loadStyles } from './view/sheet.ts'
import { openView, type View } from './view/view.ts'

/** How often an open bond checks the built-ins of the page. */
const GUARD_MS = 1_000

/** One bond of a page, from its request to its outcome and its completion. */
export interface Bond {
  readonly outcome: Promise<BondOutcome>
  /** Ends this bond in favor of another. An open outcome becomes `unavailable`. */
  readonly supersede: () => void
}

/** Starts a bond. Its outcome always resolves and never rejects. */
export function startBond(setup: CheckedSetup, request: CheckedRequest): Bond {
  const container = findContainer(setup.containerId)
  let dispatch!: (...event: BondEvent) => void
  const handlers = { cancel: () => dispatch('cancel'), retry: request.onRetry }
  const view = container && openView(container, { look: setup.look, handlers })
  if (!container || !view) {
    logBreach([container ? 'no_shadow_root' : 'missing'])
    return settled('container_hidden')
  }
  let resolve!: (outcome: BondOutcome) => void
  const outcome = new Promise<BondOutcome>((resolved) => (resolve = resolved))
  let hasFailed = false
  const fail = (cause?: unknown) => {
    console.error('Pulse: the widget failed.', cause)
    const unfit = guarding && unfitness()
    if (unfit) settle(refuse(unfit, setup))
    // Not even the end can be drawn.
    if (hasFailed) return settle(unavailable('internal_error'))
    hasFailed = true
    dispatch('unavailable', 'internal_error')
  }
  // Where a page replaces built-ins later, the widget may fail without an exception.
  let guarding = setInterval(() => unfitness() && fail(), GUARD_MS)
  const settle = (given: BondOutcome) => {
    clearInterval(guarding)
    guarding = 0
    resolve(given)
  }
  const run = (...event: BondEvent) => dispatch(...event)
  const parts: Parts = { setup, request, container, view, dispatch: run, settle, fail }
  dispatch = runReducer<BondState, BondEvent, BondEffect>(
    reduceBond,
    INITIAL_BOND,
    performersOf(parts),
    fail,
  )
  dispatch('start')
  return { outcome, supersede: () => dispatch('unavailable', 'superseded') }
}

/** A bond that ends before it begins. */
function settled(reason: UnavailableReason): Bond {
  return { outcome: Promise.resolve(unavailable(reason)), supersede() {} }
}

/** Functions of the script that the code of the browser's proof need not contain again. */
const TOOLS = { ask, cancelSession, loadMembers, runReducer, unpack }
export type ProofTools = typeof TOOLS

interface Parts {
  readonly setup: CheckedSetup
  readonly request: CheckedRequest
  readonly container: HTMLElement
  readonly view: View
  readonly dispatch: (...event: BondEvent) => void
  readonly settle: (outcome: BondOutcome) => void
  readonly fail: (cause: unknown) => void
}

/** What each effect does in the page, with what it leaves for later effects. */
// oxlint-disable-next-line max-lines-per-function -- a list: an entry for each effect
function performersOf(parts: Parts): Performers<BondEffect> {
  const { setup, request, container, view, dispatch, settle, fail } = parts
  const { publishableKey, workflow, origin } = setup
  const wanted = wantedLanguages(setup.locale, container)
  const spoken = loadMessages(wanted, origin).then((language) => {
    view.speak(language)
    return language
  })
  let checks!: Checks
  let guard: ContainerWatch | undefined
  let watching: Watching | undefined
  let stored: Resumption | undefined
  let sessionId = ''
  let proof = new AbortController()
  let report: ReturnType<typeof createReporter> | undefined
  const load = async () => {
    // Without its styles, the card has another size than the one to check.
    const [loaded, isStyled] = await Promise.all([
      loadChecks(origin).catch(() => undefined),
      loadStyles(origin),
    ])
    if (loaded) checks = loaded
    dispatch('loaded', Boolean(loaded && isStyled))
  }
  const find = async () => {
    stored = await resumptionOf({ ...request, publishableKey, workflow })
    const found = await findSession(setup, request, stored)
    if (found.kind === 'session') sessionId = found.address.id
    dispatch('found', found, storedSecret(sessionId))
  }
  return {
    load() {
      // The user has just pressed a button of the page, and the work continues in the widget.
      if (navigator.userActivation?.isActive) view.focus()
      load().catch(fail)
    },
    guard() {
      view.equip(checks)
      guard = checks.watchContainer(
        { ...view, container },
        {
          onContainment: (containment) => dispatch('contained', containment),
          onLastingBreach: () => dispatch('breached'),
          onFailure: fail,
        },
      )
      guard.ready.then(() => dispatch('ready')).catch(fail)
    },
    unguard: () => guard?.stop(),
    find: () => void find().catch(fail),
    speak: () => void spoken.then(() => dispatch('spoken')).catch(fail),
    watch(found) {
      const { address, pairs } = found
      stored?.save(address)
      view.compare(pairs.length > 0 ? pairs : readPairs(request.context))
      report = createReporter({ address, publishableKey })
      watching = watch({
        ...found,
        rules: checks,
        publishableKey,
        purpose: { workflow, action: request.action },
        onFailure: fail,
        onSnapshot: (snapshot) => dispatch('snapshot', snapshot),
        onUnavailable: (reason) => dispatch('unavailable', reason),
        onContact: (hasContact) => dispatch('contact', hasContact),
      })
    },
    cancelWatch: () => watching?.cancel(),
    revoke: (address) => void cancelSession({ address, publishableKey }),
    markBreached: view.markBreached,
    report: (containment) => report?.(containment),
    logBreach,
    identify: view.identify,
    show: view.show,
    check: () => guard?.check(),
    openProof(address, secret) {
      proof = new AbortController()
      const { signal } = proof
      const subject = { address, publishableKey, signal }
      const { take } = watching!
      loadProof(origin)
        .then(({ openProof }) =>
          openProof({ ...TOOLS, language: spoken, subject, secret, take, dispatch, fail }),
        )
        .catch(() => dispatch('unavailable', 'network'))
    },
    closeProof: () => proof.abort(),
    forget() {
      stored?.remove()
      removeSecret(sessionId)
    },
    settle(given) {
      // The browser reports what its policy blocks after the request has failed.
      if (given.state === 'unavailable')
        setTimeout(() => settle({ ...given, ...(missingCsp && { missingCsp }) }))
      else settle(given)
    },
    stop() {
      guard?.stop()
      watching?.stop()
      proof.abort()
    },
  }
}

function logBreach(breaches: readonly string[]): void {
  console.error(`Pulse: the container breaks these rules: ${breaches.join(', ')}.`)
}
