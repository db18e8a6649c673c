import type { PhoneSession, StepUp } from '@bonded/contract'
import type { Page, Request, Route } from 'playwright-core'

const MISSING: StepUp = {
  required: ['browser'],
  attempts_left: 2,
  reasons: ['browser_not_confirmed'],
}

/**
 * Stands between a phone page and the service, as a workflow that requires the page's browser: it
 * keeps the phone's assertion until the browser has confirmed. Everything else is the service's.
 */
export class BrowserProofDouble {
  /** What the phone reads while the service has no bond. */
  stepUp: StepUp = MISSING
  isOffline = false
  #kept: Request | undefined

  static async before(page: Page): Promise<BrowserProofDouble> {
    const double = new BrowserProofDouble()
    await page.route('**/api/v1/**', (route) => double.#serve(route))
    return double
  }

  /** The page's browser confirms: the service receives the assertion. */
  async confirm(): Promise<void> {
    const request = this.#kept
    if (request === undefined) throw new Error('the phone has not approved')
    this.#kept = undefined
    const response = await fetch(request.url(), {
      method: 'POST',
      headers: await request.allHeaders(),
      body: request.postData(),
    })
    if (!response.ok) throw new Error(await response.text())
  }

  async #serve(route: Route): Promise<void> {
    const request = route.request()
    const { origin, pathname } = new URL(request.url())
    if (this.isOffline) return route.abort()
    if (pathname.endsWith('/attestations')) {
      this.#kept = request
      this.stepUp = MISSING
      const { session_id, nonce } = request.postDataJSON() as Record<string, string>
      const url = `${origin}/api/v1/sessions/${session_id}?nonce=${nonce}`
      const response = await fetch(url, { headers: await request.allHeaders() })
      return route.fulfill({ json: this.#view((await response.json()) as PhoneSession) })
    }
    if (!/\/sessions\/[^/]+(\/claim)?$/.test(pathname)) return route.continue()
    // A page that is closed ends its requests, also between a response and its body.
    const found = await route
      .fetch()
      .then(async (response) => ({ response, body: await response.json() }))
      .catch(() => undefined)
    if (found === undefined) return
    const { response, body } = found
    if (!response.ok()) return route.fulfill({ response })
    return route.fulfill({ response, json: this.#view(body as PhoneSession) })
  }

  #view(session: PhoneSession): PhoneSession {
    if (this.#kept === undefined || session.state !== 'pending') return session
    return { ...session, state: 'step_up_required', step_up: this.stepUp }
  }
}
