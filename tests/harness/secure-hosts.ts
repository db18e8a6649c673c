import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer } from 'node:tls'

/*
 * Host names with TLS on this machine, for browsers only. WebAuthn needs a certificate that the
 * browser trusts, and on localhost every port may use the same relying party id, so tests of
 * related origins and of frames need names of their own.
 */

/** Why the tests are skipped that need names, or false when they run. */
export const secureHostsMissing: string | false =
  spawnSync('certutil', ['-H']).error === undefined &&
  spawnSync('openssl', ['version']).status === 0
    ? false
    : 'no certutil or openssl: install libnss3-tools and openssl'

/** The name of the service. */
export const SERVICE_HOST = 'bond.bank.test'

/** Names below `.test`, each of which leads to a server of a test. */
export interface SecureHosts extends AsyncDisposable {
  /** Leads a name to a server on 127.0.0.1. Without it, connections to the name are closed. */
  route(name: string, port: number): void
  /** What a browser needs: it resolves the names, and trusts the test authority. */
  readonly browser: { readonly args: readonly string[]; readonly home: string }
}

/**
 * Starts a server that ends TLS for names below `.test`, on port 443 as the browser sees it. The
 * test authority is in a `HOME` of its own, so no other browser trusts it.
 *
 * @example await startSecureHosts(['bond.bank.test', 'www.bank.test'])
 */
export async function startSecureHosts(names: readonly string[]): Promise<SecureHosts> {
  const home = mkdtempSync(join(tmpdir(), 'bonded-hosts-'))
  const routes = new Map<string, number>()
  const sockets = new Set<Socket>()
  const server = createServer({ ...issue(home, names), ALPNProtocols: ['http/1.1'] }, (outside) => {
    const port = routes.get(String(outside.servername))
    if (port === undefined) return void outside.destroy()
    const inside = connect(port, '127.0.0.1')
    for (const [socket, other] of [
      [outside, inside],
      [inside, outside],
    ] as const) {
      sockets.add(socket)
      // Browsers and the service close connections in any order.
      socket
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(socket)
          other.destroy()
        })
    }
    outside.pipe(inside).pipe(outside)
  })
  server.on('tlsClientError', (_failure, socket) => socket.destroy())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    route: (name, to) => void routes.set(name, to),
    browser: { args: [`--host-resolver-rules=MAP *.test 127.0.0.1:${port}`], home },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
      rmSync(home, { recursive: true, force: true })
    },
  }
}

/** Creates an authority that browsers with this `HOME` trust, and its certificate for the names. */
function issue(home: string, names: readonly string[]): { key: Buffer; cert: Buffer } {
  const database = join(home, '.pki/nssdb')
  mkdirSync(database, { recursive: true })
  const at = (name: string) => join(home, name)
  const run = (program: string, line: string, ...words: string[]) =>
    void execFileSync(program, [...line.split(' '), ...words], { stdio: 'pipe', timeout: 60_000 })
  const create = (name: string, line: string, ...words: string[]) =>
    run(
      'openssl',
      `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 ${line}`,
      ...words,
      '-keyout',
      at(`${name}.key`),
      '-out',
      at(`${name}.pem`),
    )
  create('authority', '-subj /CN=authority')
  const extensions = `subjectAltName=${names.map((name) => `DNS:${name}`).join()}`
  const signer = ['-CA', at('authority.pem'), '-CAkey', at('authority.key')]
  create(
    'hosts',
    `-subj /CN=hosts -addext ${extensions} -addext`,
    'basicConstraints=CA:FALSE',
    ...signer,
  )
  run('certutil', `-N --empty-password -d`, `sql:${database}`)
  run('certutil', '-A -n authority -t C,, -i', at('authority.pem'), '-d', `sql:${database}`)
  return { key: readFileSync(at('hosts.key')), cert: readFileSync(at('hosts.pem')) }
}
