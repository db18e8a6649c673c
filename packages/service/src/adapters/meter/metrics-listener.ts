import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, isIPv4 } from 'node:net'
import type { PrometheusMeter } from './prometheus-meter.ts'

/** A page of figures takes milliseconds; whoever holds the connection longer is not reading. */
const REQUEST_TIMEOUT_MS = 5_000

/** The figures were to be shown where others could read them. */
export class MetricsHostError extends Error {
  readonly code = 'metrics_not_loopback'
  override readonly name = 'MetricsHostError'
}

/** `GET /metrics`, for whoever is on this machine. */
export interface MetricsListener extends AsyncDisposable {
  readonly port: number
}

/**
 * Serves the figures on a port of their own. Nobody has to show who they are there, so only this machine may reach it.
 *
 * @throws {MetricsHostError} where the host is not a loopback address
 */
export async function listenForMetrics(
  meter: Pick<PrometheusMeter, 'read' | 'contentType'>,
  at: { host: string; port: number },
): Promise<MetricsListener> {
  const { host, port } = at
  if (!isLoopback(host))
    throw new MetricsHostError(
      `metrics are for this machine only: ${host} is not a loopback address`,
    )
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    if (!namesLoopback(request)) return void response.writeHead(403).end()
    if (request.method !== 'GET' || request.url !== '/metrics')
      return void response.writeHead(404).end()
    meter.read().then(
      (figures) =>
        response
          .writeHead(200, { 'content-type': meter.contentType, 'cache-control': 'no-store' })
          .end(figures),
      () => response.writeHead(500).end(),
    )
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  server.listen(port, host, resolve)
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

function isLoopback(host: string): boolean {
  return host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

/**
 * Whether the request was made for this machine by its name. A page on the web can point a name of its
 * own at 127.0.0.1 and read what is served there (DNS rebinding), but its browser sends that name.
 */
function namesLoopback({ headers, rawHeaders }: IncomingMessage): boolean {
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host')
  return (
    hosts.length === 1 &&
    /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i.test(headers.host ?? '')
  )
}
