import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, isIPv4 } from 'node:net'
import type { PrometheusMeter } from './prometheus-meter.ts'

/** A response takes milliseconds. A client that takes longer is not reading. */
const REQUEST_TIMEOUT_MS = 5_000

/** The metrics host is not a loopback address, so other machines could read the metrics. */
export class MetricsHostError extends Error {
  readonly code = 'metrics_not_loopback'
  override readonly name = 'MetricsHostError'
}

/** The server of `GET /metrics`, which only this machine can reach. */
export interface MetricsListener extends AsyncDisposable {
  readonly port: number
}

/**
 * Serves the metrics on a separate port. The port has no authentication, so only this machine may
 * reach it.
 *
 * @throws {MetricsHostError} if the host is not a loopback address
 */
export async function listenForMetrics(
  meter: Pick<PrometheusMeter, 'read' | 'contentType'>,
  address: { host: string; port: number },
): Promise<MetricsListener> {
  const { host, port } = address
  if (!isLoopback(host))
    throw new MetricsHostError(
      `Metrics cannot be served on ${host}, because it is not a loopback address. Use 127.0.0.1 or ::1.`,
    )
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    if (!namesLoopback(request)) return void response.writeHead(403).end()
    if (request.method !== 'GET' || request.url !== '/metrics')
      return void response.writeHead(404).end()
    meter.read().then(
      (metrics) =>
        response
          .writeHead(200, { 'content-type': meter.contentType, 'cache-control': 'no-store' })
          .end(metrics),
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
 * Whether the Host header names this machine. A web page can resolve its own domain to 127.0.0.1
 * and read this server (DNS rebinding), but its browser sends that domain as the Host.
 */
function namesLoopback({ headers, rawHeaders }: IncomingMessage): boolean {
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host')
  return (
    hosts.length === 1 &&
    /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i.test(headers.host ?? '')
  )
}
