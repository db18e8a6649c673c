import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContextOptions, Frame, Locator, Page } from 'playwright-core'
import { browserMissing, openBrowser } from '../../../tests/browser.ts'
import type { ScriptedSession, SessionScript } from './scripted-session.ts'
import { ScriptedWorker } from './scripted-worker.ts'

/** Why browser tests cannot run here; false when they can. */
export const noBrowser = browserMissing

/** Large enough for the widget. A larger screenshot only takes longer to decode. */
const VIEWPORT = { width: 420, height: 560 }
/** Longer than any wait of these tests. A test that reaches it would never end. */
const LIMIT_MS = 60_000
/** Options of every browser test. */
export const browserTest = { skip: noBrowser, timeout: 10 * LIMIT_MS }

export const PUBLISHABLE_KEY = `pk_beta_${'k'.repeat(22)}`
export const PURPOSE = { workflow: 'credit_application', action: 'submit_application' }

/** How a test's page differs from a plain one. */
export interface PageScript extends BrowserContextOptions {
  readonly csp?: string
  /** Markup that replaces the plain container. */
  readonly body?: string
  /** Markup that replaces the tag of the hosted script. */
  readonly scripts?: string
  /** Scripts of the site itself, by path. */
  readonly files?: Readonly<Record<string, string>>
  /** Lets the test control the page's clock. */
  readonly clock?: boolean
  readonly session?: SessionScript
  /** What the page passes to `requireBond`, in addition to the action. */
  readonly request?: object
}

/** A browser, the worker's origin, and a bank's origin with a page and a session endpoint. */
export class Harness implements AsyncDisposable {
  readonly worker: ScriptedWorker
  readonly #browser: Browser
  readonly #site = createServer((request, response) => {
    if (request.method === 'POST')
      return void this.#createSession(request).then((view) =>
        response.setHeader('Content-Type', 'application/json').end(JSON.stringify(view)),
      )
    const file = this.#page.files?.[request.url ?? '']
    if (file !== undefined)
      return void response.setHeader('Content-Type', 'text/javascript').end(file)
    if (this.#page.csp) response.setHeader('Content-Security-Policy', this.#page.csp)
    response.setHeader('Content-Type', 'text/html').end(this.#html())
  })
  /**
   * The requests of the last page to its endpoint, and the sessions created for them, newest last.
   */
  readonly requests: unknown[] = []
  readonly sessions: ScriptedSession[] = []
  #page: PageScript = {}

  private constructor(worker: ScriptedWorker, browser: Browser) {
    this.worker = worker
    this.#browser = browser
  }

  static async start(): Promise<Harness> {
    const worker = await ScriptedWorker.start()
    const browser = await openBrowser()
    const harness = new Harness(worker, browser)
    await new Promise<void>((resolve) => harness.#site.listen(0, '127.0.0.1', resolve))
    return harness
  }

  get siteUrl(): string {
    return `http://localhost:${(this.#site.address() as AddressInfo).port}/`
  }

  /** The session that the page's endpoint created last. */
  get session(): ScriptedSession {
    const newest = this.sessions.at(-1)
    if (!newest) throw new Error('the page has not requested a session')
    return newest
  }

  /** Opens a fresh page with the script loaded, in its own browser context. */
  async open(script: PageScript = {}): Promise<Page> {
    const {
      csp: _csp,
      body: _body,
      scripts: _scripts,
      files: _files,
      clock,
      session: _session,
      request: _request,
      ...context
    } = script
    this.#page = script
    this.worker.sockets = 'accept'
    this.worker.responses = 'well'
    this.worker.retryAfterSeconds = undefined
    this.sessions.length = 0
    for (const previous of this.#browser.contexts()) await previous.close()
    const page = await (
      await this.#browser.newContext({ viewport: VIEWPORT, ...context })
    ).newPage()
    page.setDefaultTimeout(LIMIT_MS)
    if (clock) await page.clock.install()
    await page.goto(this.siteUrl)
    return page
  }

  /** Changes what the site serves. */
  serve(script: PageScript): void {
    this.#page = script
  }

  /** Opens a page that has requested a bond and shows its first QR code. */
  async waiting(script: PageScript = {}): Promise<Page> {
    const page = await this.open(script)
    await init(page)
    await require(page, script.request)
    await screen(page, 'waiting')
    await page.locator('.qr').waitFor()
    return page
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close()
    await this.worker[Symbol.asyncDispose]()
    this.#site.closeAllConnections()
    await new Promise((resolve) => this.#site.close(resolve))
  }

  async #createSession(request: IncomingMessage): Promise<object> {
    let body = ''
    for await (const chunk of request) body += chunk
    const { workflow, action } = JSON.parse(body)
    this.requests.push(JSON.parse(body))
    const session = this.worker.create({ workflow, action, ...this.#page.session })
    this.sessions.push(session)
    // Like a real backend, it returns more members than the public view has.
    return { ...session.view(), context: null, subject_ref: null, step_up: null }
  }

  #html(): string {
    const {
      body = '<div data-pulse-widget></div>',
      scripts = `<script src="${this.worker.origin}/v1/pulse.js"></script>`,
    } = this.#page
    return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Bank</title><meta name="viewport" content="width=device-width">
      <meta name="color-scheme" content="light dark">${scripts}<main><h1>Loan</h1>${body}</main></html>`
  }
}

/** The members that the tests add to the page. */
export interface OnPage {
  Pulse: Record<'init' | 'requireBond', (given: unknown) => Promise<Outcome>>
  outcome: Promise<Outcome>
  getComputedStyle(element: unknown): { getPropertyValue(name: string): string }
}

interface Outcome {
  missingCsp?: string
  readonly state: string
  readonly sessionId: string | null
  readonly reason?: string
}

/** Calls Pulse.init on the page. */
export async function init(page: Page | Frame, setup: object = {}): Promise<void> {
  await page.evaluate((given) => (globalThis as unknown as OnPage).Pulse.init(given), {
    publishableKey: PUBLISHABLE_KEY,
    workflow: PURPOSE.workflow,
    sessionEndpoint: '/bond-session',
    ...setup,
  })
}

/** Starts Pulse.requireBond on the page; {@link outcome} waits for it. */
export async function require(page: Page | Frame, request: object = {}): Promise<void> {
  await page.evaluate(
    (given) => {
      const scope = globalThis as unknown as OnPage
      scope.outcome = scope.Pulse.requireBond(given)
    },
    { action: PURPOSE.action, ...request },
  )
}

/** The outcome of the started requireBond. */
export function outcome(page: Page): Promise<Outcome> {
  return page.evaluate(() => (globalThis as unknown as OnPage).outcome)
}

/** Waits until the widget shows a screen. */
export async function screen(page: Page, name: string): Promise<void> {
  await page.locator(`.card[data-screen=${name}]`).waitFor()
}

/** Waits until a condition of the test is met. */
export async function until(holds: () => boolean): Promise<void> {
  const deadline = Date.now() + LIMIT_MS
  while (!holds()) {
    if (Date.now() > deadline) throw new Error(`never held: ${holds.toString()}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** A computed style of an element. */
export function computed(locator: Locator, property: string): Promise<string> {
  return locator.evaluate(
    (element, name) =>
      (globalThis as unknown as OnPage).getComputedStyle(element).getPropertyValue(name),
    property,
  )
}
