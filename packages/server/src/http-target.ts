import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ENDPOINTS } from '@bonded/contract'

const ALIVE = JSON.stringify({ status: 'alive', reasons: [] })

/** What a request asks for: Node sends no body for HEAD, so that it is answered as GET. */
export function targetOf({ method, url = '' }: Pick<IncomingMessage, 'method' | 'url'>): {
  readonly method: string | undefined
  readonly path: string
} {
  return { method: method === 'HEAD' ? 'GET' : method, path: url.split('?', 1)[0] ?? '' }
}

/**
 * Answers a request for the path at which every server of this program says that it runs. A probe
 * may reach it by any name or address.
 *
 * @returns whether it was one
 */
export function answersProbe(request: IncomingMessage, response: ServerResponse): boolean {
  const { method, path } = targetOf(request)
  if (method !== 'GET' || path !== ENDPOINTS.alive.path) return false
  const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }
  response.writeHead(200, headers).end(ALIVE)
  return true
}

/** Whether the Host header names an origin: without regard to case, with or without its port. */
export function namesOrigin(
  { headers }: Pick<IncomingMessage, 'headers'>,
  origin: string,
): boolean {
  const { protocol, host } = new URL(origin)
  const usualPort = protocol === 'https:' ? /:443$/ : /:80$/
  return headers.host?.toLowerCase().replace(usualPort, '') === host
}

/** What Node listens on for the host of a setting. */
export function listeningHost(host: string): string {
  // For this name, fastify would add a second server at ::1. That server would have none of the
  // connection limits and guards, so the service listens at one address only.
  if (host === 'localhost') return '127.0.0.1'
  // Without a host, Node listens on every address also where the kernel has no IPv6. `::` fails
  // there, and the files in `deploy` have it, because it is right for every other network.
  return host === '::' ? '' : host
}

/** A server that listens. Disposing it closes its connections. */
export interface Listening extends AsyncDisposable {
  readonly port: number
}

/** Lets a server listen, at the host of a setting. */
export async function listening(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<Listening> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(port, listeningHost(host), resolve)
  await promise
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]() {
      const closed = new Promise<void>((done) => server.close(() => done()))
      server.closeAllConnections()
      return closed
    },
  }
}
