import { createServer, type IncomingMessage } from 'node:http'
import { isIPv4, isIPv6 } from 'node:net'
import { answersProbe, type Listening, listening, targetOf } from '../../http-target.ts'
import type { PrometheusMeter } from './prometheus-meter.ts'

/** A response takes milliseconds. A client that takes longer is not reading. */
const REQUEST_TIMEOUT_MS = 5_000
/** How often Node checks for slow requests. Its default of 30 s exceeds the limit above. */
const SLOW_REQUEST_CHECK_MS = 1_000

/**
 * Serves the metrics on a separate port. The port has no authentication, so the operator decides
 * which machines reach it.
 */
export async function listenForMetrics(
  meter: Pick<PrometheusMeter, 'read' | 'contentType'>,
  address: { host: string; port: number },
): Promise<Listening> {
  const options = {
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: SLOW_REQUEST_CHECK_MS,
  }
  const server = createServer(options, (request, response) => {
    if (answersProbe(request, response)) return
    if (!namesServer(request)) return void response.writeHead(403).end()
    const { method, path } = targetOf(request)
    if (method !== 'GET' || path !== '/metrics') return void response.writeHead(404).end()
    meter.read().then(
      (metrics) =>
        response
          .writeHead(200, { 'content-type': meter.contentType, 'cache-control': 'no-store' })
          .end(metrics),
      () => response.writeHead(500).end(),
    )
  })
  return listening(server, address)
}

/**
 * Whether the Host header is an address or a name without a dot. A web page can resolve its own
 * domain to this address and read this server (DNS rebinding), but its browser sends that domain as
 * the Host. Prometheus sends an address, or the name of a container.
 */
function namesServer({ headers, rawHeaders }: IncomingMessage): boolean {
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host')
  const [, name = '', bracketed = ''] =
    /^(?:([^:[\]]+)|\[([^\]]+)\])(?::\d{1,5})?$/.exec(headers.host ?? '') ?? []
  return hosts.length === 1 && (isIPv4(name) || isIPv6(bracketed) || /^[a-z0-9_-]+$/i.test(name))
}
