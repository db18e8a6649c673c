import type { PhoneSession } from '@bonded/contract'
import type { FetchLike } from '@bonded/phone'

/**
 * Stands between the app and the service, as a workflow that requires the page's browser: it keeps
 * the phone's assertion until the browser has confirmed.
 */
export class BrowserProofDouble {
  #send: (() => ReturnType<FetchLike>) | undefined

  /** The page's browser confirms: the service receives the assertion. */
  async confirm(): Promise<void> {
    const send = this.#send
    this.#send = undefined
    const response = await send?.()
    if (response?.status !== 200) throw new Error(await response?.text())
  }

  readonly through =
    (fetch: FetchLike): FetchLike =>
    async (url, request) => {
      const { pathname, origin } = new URL(url)
      if (pathname.endsWith('/attestations')) {
        this.#send = () => fetch(url, request)
        const { session_id, nonce } = JSON.parse(request.body ?? '') as Record<string, string>
        const { authorization = '' } = request.headers
        const read = await fetch(`${origin}/api/v1/sessions/${session_id}?nonce=${nonce}`, {
          method: 'GET',
          redirect: 'error',
          headers: { authorization },
        })
        return this.#missing(read)
      }
      const response = await fetch(url, request)
      return /\/sessions\/[^/]+$/.test(pathname) ? this.#missing(response) : response
    }

  async #missing(response: Awaited<ReturnType<FetchLike>>) {
    const text = await response.text()
    const session = JSON.parse(text) as PhoneSession
    const { status, headers } = response
    if (this.#send === undefined || session.state !== 'pending')
      return { status, headers, text: async () => text }
    const step_up = { required: ['browser'], attempts_left: 2, reasons: [] }
    const body = JSON.stringify({ ...session, state: 'step_up_required', step_up })
    return { status, headers, text: async () => body }
  }
}
