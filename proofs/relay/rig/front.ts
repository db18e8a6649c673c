import { generateKeyPairSync, hash, type KeyObject, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import { certify, der, notAuthority, pemOf } from '@bonded/simulator'

/** Every host name of a run, behind one TLS port of this machine. */
export interface Front extends AsyncDisposable {
  readonly port: number
  /** SHA-256 of the public key, base64, by which a browser trusts it. */
  readonly keyHash: string
  /** Leads a host name to a plain port of this machine, until it is led elsewhere. */
  lead(host: string, port: number): void
}

const DAY_MS = 24 * 60 * 60_000
/** The tag of a host name in a subject alternative name. */
const DNS_NAME = 0x82

/** Starts the front. The certificate covers these hosts. */
export async function startFront(hosts: readonly string[]): Promise<Front> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const ports = new Map<string, number>()
  const sockets = new Map<TLSSocket, string>()
  const server = createServer(
    {
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      cert: pemOf(certificateOf(hosts, { privateKey, publicKey })),
    },
    (socket) => {
      const host = String((socket as { servername?: unknown }).servername)
      sockets.set(socket, host)
      socket.on('close', () => sockets.delete(socket))
      const port = ports.get(host)
      if (port === undefined) return void socket.destroy()
      const inner = connect(port, '127.0.0.1')
      for (const [one, other] of [
        [socket, inner],
        [inner, socket],
      ] as const) {
        one.pipe(other)
        one.on('error', () => other.destroy()).on('close', () => other.destroy())
      }
    },
  ).listen(0, '127.0.0.1')
  // A browser closes connections at any time.
  server.on('tlsClientError', () => {})
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  return {
    port,
    keyHash: hash('sha256', spki, 'base64'),
    lead(host, to) {
      ports.set(host, to)
      // A browser would use its open connection for the next page too.
      for (const [socket, its] of sockets) if (its === host) socket.destroy()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets.keys()) socket.destroy()
      await new Promise((closed) => server.close(closed))
    },
  }
}

function certificateOf(
  hosts: readonly string[],
  { privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject },
): Buffer {
  const names = hosts.map((host) =>
    Buffer.concat([Buffer.of(DNS_NAME, host.length), Buffer.from(host)]),
  )
  const name = [['commonName', 'prove:relay']] as const
  return certify({
    issuerKey: privateKey,
    serial: BigInt(`0x${randomBytes(15).toString('hex')}`),
    subject: name,
    issuer: name,
    publicKey,
    notBefore: Date.now() - DAY_MS,
    notAfter: Date.now() + DAY_MS,
    extensions: [notAuthority, { id: '2.5.29.17', value: der.sequence(...names) }],
  })
}
