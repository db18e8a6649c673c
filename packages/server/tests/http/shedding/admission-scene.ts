import { hash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { SessionId, TenantId } from '@bonded/contract'
import { queueRequests, type ShedRequest } from '../../../src/http/shedding/admission-queue.ts'
import { KnownCallers } from '../../../src/http/shedding/known-callers.ts'

/** The part of a request that the queue uses. */
export interface Request {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly socket: { readonly remoteAddress: string; destroyed: boolean }
}

export const session = `sess_${'s'.repeat(22)}`
export const credential = (tenant: string) =>
  `Bearer sk_beta_${tenant.padEnd(10, '0')}_${'s'.repeat(43)}000000`
/** The same public part, as a stranger knows it, with another secret. */
export const forged = (tenant: string) =>
  credential(tenant).replaceAll('s'.repeat(43), 'x'.repeat(43))
export const phoneToken = `Bearer dt_${'0'.repeat(10)}_${'p'.repeat(43)}`
export const publishableKey = `Bearer pk_beta_${'k'.repeat(22)}`
const digest = (secret: string) => hash('sha256', secret, 'buffer')

/** A server on a clock that the test moves. It notes what it starts and rejects, in order. */
export function queuedServer(tenants: readonly string[] = []) {
  const server = createServer()
  const started: Request[] = []
  const shed: ShedRequest[] = []
  let nowMs = 0
  let free = 1
  let listener = () => {}
  const known = new KnownCallers({ digest })
  for (const tenant of tenants)
    known.learn({
      authorization: credential(tenant),
      sessionId: session as SessionId,
      tenantId: `ten_${tenant}` as TenantId,
    })
  server.on('request', (request: IncomingMessage) => started.push(request as unknown as Request))
  const queue = queueRequests(server, {
    free: () => free,
    known,
    networkOf: ({ socket }) => socket.remoteAddress ?? '',
    shed: (request) => {
      shed.push(request)
      listener()
    },
    now: () => nowMs,
  })
  const emit = (request: Request) => {
    server.emit('request', request as unknown as IncomingMessage, {} as ServerResponse)
    return request
  }
  return {
    started,
    shed,
    queue,
    known,
    /** Sends requests with a credential from one address, as an attacker does. */
    present: (authorization: string, path: string, count: number) =>
      Array.from({ length: count }, () =>
        emit({
          method: 'POST',
          url: `/api/v1${path}`,
          headers: { authorization },
          socket: { remoteAddress: '192.0.2.66', destroyed: false },
        }),
      ),
    /** Calls the listener at each rejection. */
    onShed(given: () => void) {
      listener = given
    },
    setFree(part: number) {
      free = part
    },
    advance(ms: number) {
      nowMs += ms
    },
    /** Sends requests of unknown clients. */
    send: (remoteAddress: string, count = 1, url = '/bond') =>
      Array.from({ length: count }, () =>
        emit({ method: 'GET', url, headers: {}, socket: { remoteAddress, destroyed: false } }),
      ),
    /** Sends creates of a backend behind a proxy. */
    create: (tenant: string, count = 1) =>
      Array.from({ length: count }, () =>
        emit({
          method: 'POST',
          url: '/api/v1/sessions',
          headers: { authorization: credential(tenant) },
          socket: { remoteAddress: '198.51.100.1', destroyed: false },
        }),
      ),
    complete: (tenant: string) =>
      emit({
        method: 'POST',
        url: `/api/v1/sessions/${session}/form-completed`,
        headers: { authorization: credential(tenant) },
        socket: { remoteAddress: '198.51.100.1', destroyed: false },
      }),
  }
}
