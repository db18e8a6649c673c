/** A challenge lives for 300 s, and the prompt for a passkey may take 60 s of them. */
const MAX_AGE_MS = 200_000

/** The network of the page, with responses that are under way before the phone asks for them. */
export interface RequestsAhead {
  /** The next request for the address gets this response, unless it is too old by then. */
  expect(url: string, response: Promise<Response>): void
  fetch(url: string, request: RequestInit): Promise<Response>
}

export function createRequestsAhead(
  send: (url: string, request: RequestInit) => Promise<Response>,
) {
  const expected = new Map<string, () => Promise<Response> | undefined>()
  const ahead: RequestsAhead = {
    expect(url, response) {
      // The time of day also passes while the phone sleeps.
      const at = Date.now()
      // A failure is one of the request that gets it.
      response.catch(() => {})
      expected.set(url, () => (Date.now() - at < MAX_AGE_MS ? response : undefined))
    },
    fetch(url, request) {
      const take = expected.get(url)
      expected.delete(url)
      return take?.() ?? send(url, request)
    },
  }
  return ahead
}
