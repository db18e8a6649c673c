import type { CreatedSession } from '@bonded/contract'
import type { BrowserContext, Page } from 'playwright-core'
import { describedMembers } from '../../../tests/described-members.ts'
import type { Sandbox } from './sandbox.ts'

/** The only action of these tests. */
const EXPECTED = { workflow: 'credit_application', action: 'submit_application' }

/** The session as a backend reads it from JSON: nothing is known of it. */
interface ReadSession {
  readonly state?: unknown
  readonly workflow?: unknown
  readonly action?: unknown
  readonly expires_at?: unknown
  readonly verification?: {
    readonly device_possession?: unknown
    readonly local_auth?: unknown
    readonly human_presence_confidence?: number
    readonly assertion_confidence?: number
    readonly carrier?: { readonly sim_swap_recent?: unknown }
    readonly sensor_continuity?: { readonly continuity_score?: number }
  } | null
}

interface Pending {
  readonly workflow: string
  readonly action: string
  readonly created: CreatedSession
}

/**
 * A bank's backend with the procedure of the API description, part 4, as an integrator writes it
 * without a library. Its workflow requires no passport, so step 7 has nothing to check.
 */
export class DescribedBackend {
  readonly #sandbox: Sandbox
  readonly #pending = new Map<string, Pending>()

  constructor(sandbox: Sandbox) {
    this.#sandbox = sandbox
  }

  async create(body: object = {}): Promise<CreatedSession> {
    const created = await this.#sandbox.create(body)
    this.#pending.set(created.id, { ...EXPECTED, created })
    return created
  }

  /**
   * Judges a submitted form, and completes the session after the action, or after the review is
   * filed.
   *
   * @returns why the form is rejected or in review; empty when it is accepted
   */
  async submit(form: { readonly session_id?: unknown }): Promise<readonly string[]> {
    const id = form.session_id
    if (typeof id !== 'string' || id === '') return ['reject: no session id']
    const session: ReadSession = await this.#sandbox.stateOf({ id })
    const pending = this.#pending.get(id)
    const verdict = judge(session, pending)
    if (pending && !verdict.some((reason) => reason.startsWith('reject')))
      await this.#sandbox.complete(pending.created)
    return verdict
  }
}

/** Steps 2 to 6. */
function judge(session: ReadSession, pending: Pending | undefined): readonly string[] {
  if (session.state !== 'bonded') return ['reject: not bonded']
  if (session.workflow !== EXPECTED.workflow || session.action !== EXPECTED.action)
    return ['reject: other action']
  if (!(Date.parse(String(session.expires_at)) > Date.now())) return ['reject: expired']
  if (pending?.workflow !== EXPECTED.workflow || pending.action !== EXPECTED.action)
    return ['reject: not ours']
  const { verification } = session
  if (!verification || verification.device_possession !== true) return ['reject: no possession']
  if (verification.local_auth !== 'verified') return ['reject: no local authentication']
  const confidence =
    verification.human_presence_confidence ?? verification.assertion_confidence ?? 0
  const review: string[] = []
  if (confidence < 0.55) review.push('review: confidence')
  if (verification.carrier?.sim_swap_recent === true) review.push('review: SIM swap')
  if ((verification.sensor_continuity?.continuity_score ?? 0) < 0.6)
    review.push('review: continuity')
  return review
}

/** Where the bank's pages are. The browser asks the test for them instead of the network. */
export const SITE = 'https://bank.example'

/** What the bank's page had at the end of one visit. */
export interface PageResult {
  readonly outcome: { readonly state: string; readonly sessionId: string | null }
  readonly verdict: readonly string[]
}

/**
 * Opens the bank's page in a computer's browser. It requests a bond with the hosted widget in the
 * described container, and submits the session id that the widget returns.
 *
 * @param body what the backend adds to its create request
 * @param prepare makes the browser another one, before its first page
 * @returns the page, the session that its backend creates, and the end of the visit
 */
export async function openDescribedSite(
  sandbox: Sandbox,
  backend: DescribedBackend,
  body: object = {},
  { prepare }: { readonly prepare?: (context: BrowserContext) => Promise<void> } = {},
): Promise<{ page: Page; created: Promise<CreatedSession>; result: () => Promise<PageResult> }> {
  const page = await sandbox.computer()
  await prepare?.(page.context())
  // The service of this test is on the browser's own machine, which a public page must ask for.
  await page.context().grantPermissions(['local-network-access'], { origin: SITE })
  const { promise: created, resolve } = Promise.withResolvers<CreatedSession>()
  await page.route(`${SITE}/**`, async (route) => {
    const { pathname } = new URL(route.request().url())
    if (pathname === '/bond-session') {
      const session = await backend.create(body)
      resolve(session)
      return route.fulfill({ json: describedMembers(session) })
    }
    if (pathname === '/submit')
      return route.fulfill({ json: await backend.submit(route.request().postDataJSON()) })
    return route.fulfill({ contentType: 'text/html', body: html(sandbox) })
  })
  await page.goto(SITE)
  const result = () => page.evaluate<PageResult>('result')
  return { page, created, result }
}

function html({ origin, publishableKey }: Sandbox): string {
  const setup = {
    publishableKey,
    workflow: EXPECTED.workflow,
    containerId: 'bond',
    sessionEndpoint: '/bond-session',
  }
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Bank</title>
<link rel="icon" href="data:,"><script src="${origin}/v1/pulse.js"></script>
<h1>Loan</h1><div id="bond" style="display:block;min-height:168px;max-width:360px"></div><script>
Pulse.init(${JSON.stringify(setup)})
globalThis.result = (async () => {
  const outcome = await Pulse.requireBond({ action: '${EXPECTED.action}', context: {} })
  const body = JSON.stringify({ session_id: outcome.sessionId })
  const answer = await fetch('/submit', { method: 'POST', body })
  return { outcome, verdict: await answer.json() }
})()
</script></html>`
}
