import { Agent, request as httpRequest } from 'node:http'

export interface Reply {
  readonly status: number
  readonly text: string
  // A test says what it expects; the type would say it twice.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

export interface Request {
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}

/** Sends one API call over a socket that is kept. Rejects where no answer came. */
export type Exchange = (method: string, path: string, given?: Request) => Promise<Reply>

/** Well below the service's own: were both the same, a socket could be closed while it is taken up again. */
const IDLE_SOCKET_MS = 15_000

/**
 * As many callers at once as there are sockets. `hangUp` closes those that are idle: where a test holds up this process
 * longer than the service keeps a socket, the next call would take up one that the service is about to close.
 */
export function exchangeWith(
  port: () => number,
  sockets = 256,
): Exchange & Disposable & { readonly hangUp: () => void } {
  const agent = new Agent({ keepAlive: true, maxSockets: sockets, timeout: IDLE_SOCKET_MS })
  const exchange: Exchange = (method, path, { token, headers = {}, body } = {}) => {
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
  const hangUp = () => agent.destroy()
  return Object.assign(exchange, { hangUp, [Symbol.dispose]: hangUp })
}
