import { createHash, generateKeyPairSync, sign, verify } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Signer } from '../../packages/core/src/ports/signer.ts'
import { isConsistent } from '../../packages/integrator/src/receipt/merkle.ts'

/** A response of a witness. Status 0 closes the connection without one; `NEVER` keeps it open. */
interface Reply {
  readonly status: number
  readonly type?: string
  readonly body?: string
}

export const NEVER = -1

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest()
const spki = (x: string) => ({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }) as const

/**
 * Starts a witness as c2sp.org/tlog-witness defines it, with its own key, which trusts one log. It
 * shares only the verification of a consistency proof with the programs under test.
 */
export async function startWitness(
  name: string,
  log: { readonly origin: string; readonly keys: Signer['publicKeys'] },
) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const rawKey = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
  const typed = Buffer.concat([Buffer.of(4), rawKey])
  const keyId = sha256(Buffer.concat([Buffer.from(`${name}\n`), typed])).subarray(0, 4)
  const requests: string[] = []
  let latest = { size: 0, root: createHash('sha256').digest() }
  let instead: ((honest: Reply) => Reply) | undefined

  /** The line of a cosignature on the text of a checkpoint. */
  const cosignature = (text: string, time = 1_679_315_147n, signer = privateKey) => {
    const stamp = Buffer.alloc(8)
    stamp.writeBigUInt64BE(time)
    const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${time}\n${text}`), signer)
    return `— ${name} ${Buffer.concat([keyId, stamp, signature]).toString('base64')}\n`
  }

  const isSigned = (text: string, lines: readonly string[]) =>
    lines.some((line) => {
      const [dash, signer, data = ''] = line.split(' ')
      const bytes = Buffer.from(data, 'base64')
      if (dash !== '—' || signer !== log.origin) return false
      return log.keys.some(({ x }) => {
        const id = Buffer.concat([
          Buffer.from(`${log.origin}\n\u0001`),
          Buffer.from(x, 'base64url'),
        ])
        const isKey = sha256(id).subarray(0, 4).equals(bytes.subarray(0, 4))
        return isKey && verify(null, Buffer.from(text), spki(x), bytes.subarray(4))
      })
    })

  const answer = async (body: string): Promise<Reply> => {
    const [head = '', ...rest] = body.split('\n\n')
    const note = rest.join('\n\n')
    const [oldLine = '', ...proofLines] = head.split('\n')
    const old = Number(/^old (0|[1-9]\d*)$/.exec(oldLine)?.[1] ?? Number.NaN)
    const end = note.lastIndexOf('\n\n') + 1
    const text = note.slice(0, end)
    const [origin, sizeLine, rootLine = ''] = text.split('\n')
    if (Number.isNaN(old) || proofLines.length > 63) return { status: 400 }
    if (origin !== log.origin) return { status: 404 }
    if (!isSigned(text, note.slice(end + 1).split('\n'))) return { status: 403 }
    const newer = { size: Number(sizeLine), root: Buffer.from(rootLine, 'base64') }
    if (old > newer.size) return { status: 400 }
    if (old !== latest.size)
      return { status: 409, type: 'text/x.tlog.size', body: `${latest.size}\n` }
    if (old === newer.size && !newer.root.equals(latest.root)) return { status: 409 }
    const proof = proofLines.map((line) => Buffer.from(line, 'base64'))
    if (!(await isConsistent({ older: latest, newer, proof }))) return { status: 422 }
    latest = newer
    return { status: 200, body: cosignature(text) }
  }

  const textIn = async (request: IncomingMessage) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks).toString()
  }
  const server = createServer((request, response) => {
    void textIn(request).then(async (body) => {
      requests.push(body)
      const isSubmission = request.method === 'POST' && request.url === '/log/add-checkpoint'
      const honest = isSubmission ? await answer(body) : { status: 404 }
      const { status, type = 'text/plain', body: text = '' } = instead?.(honest) ?? honest
      if (status === 0) request.socket.destroy()
      else if (status !== NEVER) response.writeHead(status, { 'content-type': type }).end(text)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const verifierKey = `${name}+${keyId.toString('hex')}+${typed.toString('base64')}`
  return {
    verifierKey,
    /** The name that the setting of the service gives it. */
    setting: `${verifierKey} http://127.0.0.1:${port}/log/`,
    requests,
    cosignature,
    size: () => latest.size,
    /** Replaces its responses. */
    respond(reply: ((honest: Reply) => Reply) | undefined) {
      instead = reply
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
