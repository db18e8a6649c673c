import { REASONS } from '@bonded/contract'
import { awaitsBrowser, PhoneError } from '@bonded/phone'
import type {
  EvidenceProfile,
  ScannedRequest,
  ShownSession,
  SimulatedPhone,
  WebauthnAssertionJson,
} from '@bonded/simulator'
import type { ShownCode } from '../sandbox.ts'
import type { Passkey } from './passkey.ts'
import {
  type PhoneAction,
  type PhoneView,
  receivedRequest,
  type ScreenName,
  verdictOf,
} from './phone-view.ts'

/** How often the phone looks for a new QR code. */
const LOOK_MS = 400
/** While the phone waits for the browser. The page may be faster than the response to the phone. */
const PASSKEY_SCREENS: readonly ScreenName[] = ['busy', 'confirm_on_computer', 'passkey_used']

export interface DemoPhoneOptions {
  readonly phone: Pick<SimulatedPhone, 'scan'>
  readonly passkey: Pick<Passkey, 'answer'>
  readonly newestCode: () => Promise<ShownCode | undefined>
  readonly onChange: () => void
}

/** One request on the phone: from its scan to its end. */
interface Run {
  readonly code: Pick<ShownCode, 'session_id' | 'createdAtMs'>
  readonly abort: AbortController
  scanned?: ScannedRequest
  isFollowed?: boolean
  /** Answers the step-up that the phone shows. */
  confirm?: () => void
}

const IDLE: PhoneView = { screen: 'idle', actions: [] }

/** The simulated phone of the demo. It shows what it received, and waits for a button. */
export class DemoPhone implements Disposable {
  readonly #options: DemoPhoneOptions
  readonly #looking: NodeJS.Timeout
  #view: PhoneView = IDLE
  #run: Run | undefined
  /** The evidence of the first approval. */
  #evidence: EvidenceProfile = 'carried'
  #isLooking = false

  constructor(options: DemoPhoneOptions) {
    this.#options = options
    this.#looking = setInterval(() => void this.#look(), LOOK_MS).unref()
  }

  /** The screen now. */
  get view(): PhoneView {
    return this.#view
  }

  /** Selects the evidence of later approvals. */
  useEvidence(profile: EvidenceProfile): void {
    this.#evidence = profile
  }

  /** Presses a button. Returns false for one that the screen does not offer. */
  press(action: PhoneAction): boolean {
    if (!this.#view.actions.includes(action)) return false
    const run = this.#run
    if (run === undefined) return false
    void this.#act(run, action).catch((error: unknown) => this.#fail(run, error))
    return true
  }

  /**
   * Answers the bank's page with the passkey, while the request waits for its browser. Returns
   * undefined if there is nothing to answer.
   */
  usePasskey(request: Readonly<Record<string, unknown>>): WebauthnAssertionJson | undefined {
    if (!PASSKEY_SCREENS.includes(this.#view.screen)) return undefined
    const answer = this.#options.passkey.answer(request)
    if (answer !== undefined) this.#show({ screen: 'passkey_used', actions: [] })
    return answer
  }

  [Symbol.dispose](): void {
    clearInterval(this.#looking)
    this.#run?.abort.abort()
  }

  async #act(run: Run, action: PhoneAction): Promise<void> {
    switch (action) {
      case 'scan':
        return this.#scan(run)
      case 'retry':
        return run.scanned === undefined ? this.#scan(run) : this.#showRequest(run)
      case 'approve':
        return this.#approve(run, this.#evidence)
      case 'step-up':
        return this.#approve(run, 'locked')
      case 'confirm':
        return run.confirm?.()
      case 'decline':
        return this.#decline(run, 'user_declined')
      case 'not-me':
        return this.#decline(run, 'user_unexpected')
    }
  }

  /** Shows a QR code that is newer than the request on the screen. */
  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      const code = await this.#options.newestCode()
      const shown = this.#run?.code
      // A camera sees only what a page shows, and a page presents its watch token before it draws.
      if (code === undefined || !code.isWatched) {
        // The page closed the QR code before the phone scanned it.
        if (this.#view.screen === 'code') this.#show(IDLE)
      } else if (shown === undefined || code.createdAtMs > shown.createdAtMs) {
        this.#begin(code)
        this.#show({ screen: 'code', actions: ['scan'] })
      } else if (code.session_id === shown.session_id && this.#view.screen === 'idle')
        this.#show({ screen: 'code', actions: ['scan'] })
    } catch {
      // While the service is stopped, the phone shows what it showed before.
    } finally {
      this.#isLooking = false
    }
  }

  async #scan(run: Run): Promise<void> {
    this.#showBusy('Opening the request…')
    // The QR code changes every minute, so the phone reads the current one.
    const code = await this.#options.newestCode()
    const shown = [run, this.#run].find((each) => each?.code.session_id === code?.session_id)
    if (code === undefined || !(shown || code.isWatched)) return this.#show(IDLE)
    // The camera sees a QR code that a page has drawn since the button appeared.
    const seen = shown ?? this.#begin(code)
    seen.scanned = await this.#options.phone.scan(code.link, seen.abort.signal)
    if (seen === this.#run) this.#showRequest(seen)
  }

  #begin(code: ShownCode): Run {
    this.#run?.abort.abort()
    this.#run = { code, abort: new AbortController() }
    return this.#run
  }

  #showRequest(run: Run): void {
    const { scanned } = run
    if (scanned === undefined) return
    this.#follow(run, scanned)
    const session = scanned.session()
    this.#show({
      screen: 'request',
      actions: ['approve', 'not-me', 'decline', 'step-up'],
      request: receivedRequest(session),
    })
  }

  /** Follows the session, so that the screen shows its end. */
  #follow(run: Run, scanned: ScannedRequest): void {
    if (run.isFollowed === true) return
    run.isFollowed = true
    scanned.waitForEnd(run.abort.signal).then(
      (session) => this.#showEnd(run, session),
      (error: unknown) => {
        run.isFollowed = false
        this.#fail(run, error)
      },
    )
  }

  async #approve(run: Run, first: EvidenceProfile): Promise<void> {
    const { scanned } = run
    if (scanned === undefined) return
    this.#showBusy('Approving…')
    const session = await scanned.approve({
      evidence: async (required) => {
        if (required.length === 0) return first
        await this.#confirmation(run, required)
        return 'carried'
      },
      signal: run.abort.signal,
    })
    // The end may have arrived before this response.
    if (run !== this.#run || this.#view.screen !== 'busy') return
    if (session.state === 'bonded')
      this.#show({ screen: 'approved', actions: [], ...this.#outcome(session) })
    if (awaitsBrowser(session)) this.#show({ screen: 'confirm_on_computer', actions: ['not-me'] })
  }

  /** Shows the step-up, and waits for its button. */
  async #confirmation(run: Run, required: readonly string[]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    run.confirm = resolve
    const session = run.scanned?.session()
    if (session === undefined || run !== this.#run) return
    this.#show({
      screen: 'step_up',
      actions: ['confirm'],
      required,
      request: receivedRequest(session),
      ...(session.step_up && { attemptsLeft: session.step_up.attempts_left }),
    })
    await promise
    this.#showBusy('Approving…')
  }

  async #decline(run: Run, reason: 'user_declined' | 'user_unexpected'): Promise<void> {
    this.#showBusy(reason === 'user_declined' ? 'Declining…' : 'Stopping the request…')
    await run.scanned?.decline(reason, run.abort.signal)
    this.#show({
      screen: reason === 'user_declined' ? 'declined' : 'reported',
      actions: [],
      ...(run.scanned && { request: receivedRequest(run.scanned.session()) }),
    })
  }

  #showEnd(run: Run, session: ShownSession): void {
    const { screen } = this.#view
    if (run !== this.#run || screen === 'declined' || screen === 'reported') return
    if (session.state === 'completed')
      return this.#show({ screen: 'completed', actions: [], ...this.#outcome(session) })
    if (screen === 'busy' && session.state === 'killed') return
    this.#show({
      screen: session.state === 'expired' ? 'expired' : 'ended',
      actions: [],
      request: receivedRequest(session),
    })
  }

  #outcome(session: ShownSession): Pick<PhoneView, 'request' | 'verdict'> {
    return { request: receivedRequest(session), verdict: verdictOf(session) }
  }

  #fail(run: Run, error: unknown): void {
    if (run !== this.#run || run.abort.signal.aborted) return
    if (!(error instanceof PhoneError) || error.code === 'unreachable')
      return this.#show({ screen: 'unreachable', actions: ['retry'] })
    const reason = error.reason ?? error.code
    const message = Object.hasOwn(REASONS, reason)
      ? REASONS[reason as keyof typeof REASONS].message
      : 'The phone stopped, because this request is not safe to answer.'
    this.#show({ screen: 'refused', actions: [], rejection: { reason, message } })
  }

  #showBusy(task: string): void {
    this.#show({ screen: 'busy', actions: [], task })
  }

  #show(view: PhoneView): void {
    this.#view = view
    this.#options.onChange()
  }
}
