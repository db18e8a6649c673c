import { request as httpRequest } from 'node:http'

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  // oxlint-disable-next-line typescript/no-explicit-any -- a test asserts the shape itself
  readonly body: any
}

export interface CallOptions {
  readonly token?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** A body that is sent unchanged. */
  readonly raw?: string | Buffer
}

/** Sends one request with no headers but those given, the credential and the content headers. */
export function send(
  port: number,
  given: CallOptions & { method: string; path: string },
): Promise<Reply> {
  const { promise, resolve, reject } = Promise.withResolvers<Reply>()
  const payload = given.raw ?? (given.body === undefined ? undefined : JSON.stringify(given.body))
  const headers: Record<string, string> = {}
  if (given.token !== undefined) headers.authorization = `Bearer ${given.token}`
  if (payload !== undefined) {
    headers['content-type'] = 'application/json'
    headers['content-length'] = String(Buffer.byteLength(payload))
  }
  const request = httpRequest({
    host: '127.0.0.1',
    port,
    method: given.method,
    path: given.path,
    headers: { ...headers, ...given.headers },
    agent: false,
  })
  request.on('error', reject)
  request.on('response', (response) => {
    const chunks: Buffer[] = []
    response.on('data', (chunk: Buffer) => chunks.push(chunk))
    response.on('error', reject)
    response.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      const isJson = String(response.headers['content-type']).startsWith('application/json')
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        text,
        body: isJson && text !== '' ? JSON.parse(text) : undefined,
      })
    })
  })
  request.end(payload)
  return promise
}
