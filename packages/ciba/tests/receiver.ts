import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import tls from 'node:tls'

export interface Received {
  readonly path: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

/** The endpoint of a client, over TLS. This process trusts its certificate from then on. */
export async function startReceiver(t: Pick<TestContext, 'after'>) {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-receiver-'))
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const files = ['-keyout', key, '-out', certificate]
  execFileSync('openssl', ['req', '-x509', ...curve, ...subject, ...files], { stdio: 'ignore' })
  const cert = readFileSync(certificate, 'utf8')
  const trusted = tls.getCACertificates('default')
  tls.setDefaultCACertificates([...trusted, cert])
  const all: Received[] = []
  let read = 0
  let arrived = Promise.withResolvers<void>()
  /** The status of each response in turn. Later ones are 204, and 0 is none. */
  const statuses: number[] = []
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    const body: unknown = JSON.parse(await text(request))
    all.push({ path: request.url, headers: request.headers, body })
    arrived.resolve()
    arrived = Promise.withResolvers()
    const status = statuses.shift() ?? 204
    if (status !== 0)
      response.writeHead(status, { location: '/elsewhere' }).end(status === 204 ? '' : '{}')
  }
  const server = createServer({ key: readFileSync(key), cert }, (request, response) => {
    void receive(request, response)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  t.after(() => {
    server.closeAllConnections()
    server.close()
    tls.setDefaultCACertificates(trusted)
    rmSync(folder, { recursive: true })
  })
  return {
    host: `127.0.0.1:${port}`,
    endpoint: `https://127.0.0.1:${port}/ciba`,
    certificate,
    all,
    statuses,
    /** The next request that the test has not read. */
    async next(): Promise<Received> {
      while (all[read] === undefined) await arrived.promise
      return all[read++] as Received
    },
  }
}
