import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { TLSSocket } from 'node:tls'

/** A node builds the script at the first request for it. */
const TIMEOUT_MS = 120_000
/** The largest answer is the hosted script. */
const MAX_BODY_BYTES = 4 * 1024 * 1024

/** An answer, as a client outside receives it. */
export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** When the certificate of the connection ends; undefined without TLS. */
  readonly certificateEndsAt: number | undefined
}

export interface Ask {
  readonly method?: 'GET' | 'POST'
  readonly timeoutMs?: number
  readonly headers?: Readonly<Record<string, string>>
  /** The certificate of an authority that is trusted, in tests. */
  readonly ca?: string | undefined
}

/**
 * Sends one request on a connection of its own, follows no redirect, and verifies certificates.
 *
 * @throws the failure of the connection
 */
export function ask(
  url: string,
  { method = 'GET', headers = {}, timeoutMs = TIMEOUT_MS, ca }: Ask = {},
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const { request } = url.startsWith('https:') ? https : http
  const sent = request(url, {
    method,
    headers,
    agent: false,
    signal: AbortSignal.timeout(timeoutMs),
    ...(ca === undefined ? {} : { ca }),
  })
  sent.on('error', reject)
  sent.on('upgrade', (response, socket) => {
    socket.destroy()
    resolve(answerOf(response, Buffer.alloc(0)))
  })
  sent.on('response', (response) => {
    const chunks: Buffer[] = []
    let size = 0
    response.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > MAX_BODY_BYTES) sent.destroy(new Error('its answer is too long'))
      else chunks.push(chunk)
    })
    response.on('error', reject)
    response.on('end', () => resolve(answerOf(response, Buffer.concat(chunks))))
  })
  sent.end()
  return promise
}

function answerOf({ statusCode = 0, headers, socket }: IncomingMessage, body: Buffer): Answer {
  const ends = socket instanceof TLSSocket ? socket.getPeerCertificate().valid_to : undefined
  return {
    status: statusCode,
    headers,
    body,
    certificateEndsAt: ends === undefined ? undefined : Date.parse(ends),
  }
}

/** The members of a JSON answer; none if it is something else. */
export function jsonOf({ body }: Answer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body.toString())
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}
