import { Agent, request as httpRequest } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'

export interface Reply {
  readonly status: number
  readonly text: string
  // oxlint-disable-next-line typescript/no-explicit-any -- a test asserts the shape itself
  readonly body: any
}

export interface Request {
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}

/**
 * Sends one API call over a keep-alive socket. Rejects when the response is lost. Sends it again
 * when the service was too busy to read it, as every client should.
 */
export type Exchange = (method: string, path: string, given?: Request) => Promise<Reply>

/**
 * Well below the service's own timeout. With equal ones, the service could close a socket as the
 * next call reuses it.
 */
const IDLE_SOCKET_MS = 15_000
/** Shorter than Retry-After says: these clients are meant to keep the service busy. */
const RETRY_MS = 25

/** A response that did not arrive in time. The call may have taken effect, or may still do so. */
export class NoResponse extends Error {
  readonly code = 'NO_RESPONSE'
}

/**
 * Opens one socket per concurrent caller. `hangUp` closes the idle sockets: when a test blocks this
 * process longer than the service keeps a socket, the next call would reuse one that the service is
 * about to close.
 *
 * @param options.responseWithinMs rejects a call without a response after this time
 * @param options.hangsUpAfterSending rejects every call, which takes effect or not
 * @param options.retries false returns every 503. Some of these calls may have had an effect: the
 *   service responds with `overloaded` also when an operation takes too long
 */
export function exchangeWith(
  port: () => number,
  {
    sockets = 256,
    responseWithinMs,
    hangsUpAfterSending = false,
    retries = true,
  }: {
    sockets?: number
    responseWithinMs?: number
    hangsUpAfterSending?: boolean
    retries?: boolean
  } = {},
): Exchange & Disposable & { readonly hangUp: () => void } {
  const agent = new Agent({ keepAlive: true, maxSockets: sockets, timeout: IDLE_SOCKET_MS })
  const send: Exchange = (method, path, { token, headers = {}, body } = {}) => {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>()
    const payload = body === undefined ? undefined : JSON.stringify(body)
    const request = httpRequest({
      host: '127.0.0.1',
      port: port(),
      method,
      path: `/api/v1${path}`,
      agent,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(payload === undefined
          ? {}
          : {
              'content-type': 'application/json',
              'content-length': String(Buffer.byteLength(payload)),
            }),
        ...headers,
      },
    })
    request.on('error', reject)
    const timer =
      responseWithinMs === undefined
        ? undefined
        : setTimeout(() => request.destroy(new NoResponse()), responseWithinMs)
    request.on('close', () => clearTimeout(timer))
    if (hangsUpAfterSending) request.on('finish', () => request.destroy(new NoResponse()))
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8')
        resolve({
          status: response.statusCode ?? 0,
          text,
          body: text === '' ? undefined : JSON.parse(text),
        })
      })
    })
    request.end(payload)
    return promise
  }
  const exchange: Exchange = async (...call) => {
    for (;;) {
      const reply = await send(...call)
      if (!retries || !isOverloaded(reply)) return reply
      await wait(RETRY_MS)
    }
  }
  const hangUp = () => agent.destroy()
  return Object.assign(exchange, { hangUp, [Symbol.dispose]: hangUp })
}

/** Whether the service rejected the request before it read the body. */
const isOverloaded = ({ status, body }: Reply) =>
  status === 503 && body.error.reason === 'overloaded'
