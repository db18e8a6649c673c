import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import {
  fakeService,
  SERVER_CREDENTIAL,
  TENANT_ID,
} from '../../../packages/integrator/tests/fake-service.ts'
import { startBank } from '../src/server.ts'

export const PUBLISHABLE_KEY = `pk_beta_${'p'.repeat(22)}`
export const FORM = {
  name: 'Ada Lovelace',
  amount: '12,500',
  purpose: 'home',
  term: '36',
  income: '3200',
}

/** The service's three calls over HTTP, on a free port. `sdk` is what it serves as pulse.js. */
export async function startFakeService(sdk = '') {
  const service = fakeService(Date.now)
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
    if (request.url === '/v1/pulse.js')
      return void response.setHeader('content-type', 'text/javascript').end(sdk)
    const body = await text(request)
    const read = await service
      .fetch(`http://fake${request.url}`, {
        method: request.method === 'POST' ? 'POST' : 'GET',
        headers: Object.fromEntries(
          Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
        ),
        ...(body && { body }),
        redirect: 'manual',
        signal: AbortSignal.timeout(5_000),
      })
      .catch(() => undefined)
    if (!read) return void request.socket.destroy()
    return response
      .writeHead(read.status, { 'content-type': 'application/json' })
      .end(await read.text())
  }
  const server = createServer((request, response) => void serve(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const stop = () => {
    server.close()
    server.closeAllConnections()
  }
  return { ...service, origin, stop }
}

/** A bank, its service, and one browser. */
export async function openHarness(sdk?: string) {
  const service = await startFakeService(sdk)
  const events: Readonly<Record<string, unknown>>[] = []
  const bank = await startBank({
    port: 0,
    serviceOrigin: service.origin,
    serverCredential: SERVER_CREDENTIAL,
    publishableKey: PUBLISHABLE_KEY,
    tenantId: TENANT_ID,
    log: (event) => void events.push(event),
  })

  /** A browser that has opened the form. */
  async function openBrowser() {
    const page = await fetch(bank.url)
    const [cookie = ''] = page.headers.get('set-cookie')?.split(';') ?? []
    const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
      fetch(bank.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', cookie, ...headers },
        body: JSON.stringify(body),
      })

    /** Creates a draft and a session; then the phone approves. */
    async function approved(form: object = FORM): Promise<string> {
      await post('/drafts', form)
      const session = (await (await post('/bond-session', {})).json()) as { id: string }
      service.bond(session.id)
      return session.id
    }
    return { page, cookie, post, approved }
  }

  return {
    bank,
    service,
    events,
    openBrowser,
    async [Symbol.asyncDispose]() {
      await bank.close()
      service.stop()
    },
  }
}
