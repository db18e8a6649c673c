import { connect, type Socket } from 'node:net'

/** One call, and its response as far as the benchmark reads it. */
export interface Call {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
}
export interface Response {
  readonly status: number
  readonly body: string
  readonly retryAfterMs: number
  readonly ms: number
}

/**
 * Keep-alive connections of one port, each with one call at a time, as many as calls are under way.
 * It costs a fraction of `node:http`, so that the client does not become the bottleneck.
 */
export class ConnectionPool {
  readonly #port: number
  readonly #idle: Connection[] = []

  constructor(port: number) {
    this.#port = port
  }

  /** @throws if the service closes the connection without a response */
  async send(call: Call): Promise<Response> {
    const connection = this.#idleOne() ?? new Connection(this.#port)
    const response = await connection.send(call)
    if (connection.isOpen) this.#idle.push(connection)
    return response
  }

  /** The service may have closed a connection since its last call. */
  #idleOne(): Connection | undefined {
    for (;;) {
      const connection = this.#idle.pop()
      if (connection === undefined || connection.isOpen) return connection
    }
  }
}

class Connection {
  readonly #socket: Socket
  #received = ''
  #sentMs = 0
  #settle: { done: (response: Response) => void; fail: (failure: Error) => void } | undefined

  constructor(port: number) {
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true })
    this.#socket.setEncoding('latin1')
    this.#socket.on('data', (chunk: string) => this.#read(chunk))
    this.#socket.on('error', () => {})
    this.#socket.on('close', () => this.#settle?.fail(new Error('connection closed')))
  }

  get isOpen(): boolean {
    return this.#socket.writable
  }

  send({ method, path, headers, body = '' }: Call): Promise<Response> {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const about =
      body === ''
        ? ''
        : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`
    const { promise, resolve: done, reject: fail } = Promise.withResolvers<Response>()
    this.#settle = { done, fail }
    this.#sentMs = performance.now()
    this.#socket.write(
      `${method} ${path} HTTP/1.1\r\nhost: localhost\r\n${lines.join('')}${about}\r\n${body}`,
    )
    return promise
  }

  #read(chunk: string): void {
    this.#received += chunk
    const end = this.#received.indexOf('\r\n\r\n')
    if (end < 0) return
    const head = this.#received.slice(0, end).toLowerCase()
    const length = Number(/\r\ncontent-length: (\d+)/.exec(head)?.[1] ?? 0)
    if (this.#received.length < end + 4 + length) return
    const body = this.#received.slice(end + 4, end + 4 + length)
    this.#received = ''
    if (head.includes('\r\nconnection: close')) this.#socket.end()
    const settle = this.#settle
    this.#settle = undefined
    settle?.done({
      status: Number(head.slice(9, 12)),
      body,
      retryAfterMs: Number(/\r\nretry-after: (\d+)/.exec(head)?.[1] ?? 0) * 1_000,
      ms: performance.now() - this.#sentMs,
    })
  }
}
