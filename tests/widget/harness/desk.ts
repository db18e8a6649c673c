import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { CreatedSession, PhoneSession } from '@bonded/contract'
import { loadPulseScript } from '@bonded/widget/script'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { type Harness, harness, type TenantKeys } from '../../harness/harness.ts'
import type { TestPhone } from '../../harness/phone.ts'
import { browserMissing, openBrowser } from '../../browser.ts'
import { Network } from './network.ts'
import { ShiftedClock } from './shifted-clock.ts'
import { freePort } from '../../../packages/store/tests/servers/free-port.ts'

export interface Outcome {
  readonly state: string
  readonly sessionId: string | null
  readonly reason?: string
}
/** The members that the desk's page has. */
interface OnPage {
  outcomes: Promise<Outcome>[]
  apply(request?: object): void
}

/** How a visit differs from a plain one. */
export interface Visit {
  readonly context?: BrowserContext
  /** The time of day of the page, whose timers the test then moves. */
  readonly clock?: number
}

/** A request as a page of the desk makes it. Its form is the context. */
export interface Form {
  readonly amount?: number
}

/**
 * The real service behind a network that can be disturbed, a bank's site with a form, and a
 * browser. Every session has a phone of its own.
 */
export class Desk implements AsyncDisposable {
  readonly clock = new ShiftedClock()
  /** The sessions that the bank's backend created, newest last. */
  readonly sessions: CreatedSession[] = []
  readonly network: Network
  service!: Harness
  #browser: Browser | undefined
  bank!: TenantKeys
  /** What the bank's endpoint returns of a session to the page. */
  publish: (session: Omit<CreatedSession, 'completion_secret'>) => object = (session) => session
  /** The workflow of the next session. */
  workflow = 'credit_application'
  readonly #site: Server

  private constructor(network: Network) {
    this.network = network
    this.#site = createServer((request, response) => {
      if (request.method !== 'POST')
        return void response.setHeader('content-type', 'text/html').end(this.#page())
      void this.#create().then((session) => response.end(JSON.stringify(session)))
    })
  }

  /** @param browser null for a desk whose pages another browser opens */
  static async start(browser: Promise<Browser> | null = openBrowser()): Promise<Desk> {
    const desk = new Desk(await Network.start())
    await new Promise<void>((done) => desk.#site.listen(0, '127.0.0.1', done))
    const script = await loadPulseScript()
    desk.service = await harness({
      clock: desk.clock,
      hosting: {
        port: await freePort(),
        publicPort: desk.network.port,
        script: { version: script.version, load: () => Promise.resolve(script) },
      },
    })
    desk.network.leadTo(desk.service.running.port)
    desk.bank = await desk.service.addTenant({ name: 'Bank', origins: [desk.site] })
    desk.#browser = (await browser) ?? undefined
    return desk
  }

  get site(): string {
    return `http://localhost:${(this.#site.address() as AddressInfo).port}`
  }

  get session(): CreatedSession {
    const newest = this.sessions.at(-1)
    if (newest === undefined) throw new Error('the page has requested no session')
    return newest
  }

  /** Opens a page on an undisturbed network, without a request. */
  async visit({ context, clock }: Visit = {}): Promise<Page> {
    this.network.isDown = false
    this.network.sockets = 'pass'
    this.workflow = 'credit_application'
    const page = await (context ?? (await this.newContext())).newPage()
    page.setDefaultTimeout(60_000)
    if (clock !== undefined) await page.clock.install({ time: clock })
    await page.goto(this.site)
    return page
  }

  /** Opens a page that has requested a bond and shows its QR code. */
  async open(form: Form = {}, visit: Visit = {}): Promise<Page> {
    const page = await this.visit(visit)
    await this.apply(page, form)
    await page.locator('.qr').waitFor()
    return page
  }

  /** Ends the pages of earlier tests first: their channels would count as handshakes. */
  async newContext(): Promise<BrowserContext> {
    if (this.#browser === undefined) throw new Error('this desk has no browser')
    for (const previous of this.#browser.contexts()) await previous.close()
    return this.#browser.newContext()
  }

  /** Submits the form. Its last outcome is that of {@link outcome}. */
  async apply(page: Page, form: Form = {}): Promise<void> {
    await page.evaluate((given) => (globalThis as unknown as OnPage).apply(given), form)
  }

  /** The outcome of the n-th request of a page; the last one by default. */
  outcome(page: Page, at = -1): Promise<Outcome> {
    return page.evaluate((index) => (globalThis as unknown as OnPage).outcomes.at(index)!, at)
  }

  /** The state of a session as the bank's backend reads it. */
  async stateOf(session = this.session): Promise<string> {
    return (await this.service.get(session, this.bank)).body.state
  }

  /** A phone that has claimed the session, and what it read. */
  async claim(session = this.session): Promise<{ phone: TestPhone; view: PhoneSession }> {
    const phone = await this.service.register()
    const view = (await this.service.claim(phone, session)).body
    return { phone, view }
  }

  /** Takes the newest session to a state, as a phone does. */
  async reach(state: 'waiting' | 'scanned' | 'evaluating' | 'step_up' | 'bonded'): Promise<void> {
    if (state === 'waiting') return
    const { phone, view } = await this.claim()
    if (state === 'evaluating') await this.service.evidence(phone, view)
    if (state === 'bonded') await this.service.attest(phone, view)
    if (state === 'step_up')
      await this.service.attest(phone, view, { signals: weakSignals(this.service.now()) })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser?.close()
    await this.network[Symbol.asyncDispose]()
    await this.service[Symbol.asyncDispose]()
    this.#site.closeAllConnections()
    await new Promise((done) => this.#site.close(done))
  }

  async #create(): Promise<object> {
    const session = await this.service.create({ workflow: this.workflow }, this.bank)
    this.sessions.push(session)
    const { completion_secret: _secret, ...shown } = session
    return this.publish({
      ...shown,
      workflow: 'credit_application',
      action: 'submit_application',
    })
  }

  #page(): string {
    const setup = {
      publishableKey: this.bank.publishable,
      workflow: 'credit_application',
      sessionEndpoint: '/bond-session',
    }
    return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Bank</title>
<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width">
<script src="http://127.0.0.1:${this.network.port}/v1/pulse.js"></script>
<main><h1>Loan</h1><div data-pulse-widget style="min-height:440px"></div></main><script>
globalThis.setup = ${JSON.stringify(setup)}
Pulse.init(setup)
globalThis.outcomes = []
globalThis.apply = (context = {}) => {
  const onRetry = () => apply(context)
  outcomes.push(Pulse.requireBond({ action: 'submit_application', context, onRetry }))
}
</script></html>`
  }
}

/** Options of every test with a real browser. */
export const realBrowser = { skip: browserMissing, timeout: 180_000 }

/** Waits until the widget shows a screen. */
export async function screen(page: Page, name: string): Promise<void> {
  await page.locator(`.card[data-screen=${name}]`).waitFor()
}

function weakSignals(now: string) {
  const local_auth = { result: 'failed' as const, method: 'none' as const, verified_at: now }
  return { local_auth }
}
