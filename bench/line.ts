import { connect, type Socket } from 'node:net'

/**
 * One keep-alive connection, and the time between a request's last byte and its response's first.
 */
export class Line implements Disposable {
  readonly #socket: Socket
  #onResponse: (response: { status: number; at: bigint }) => void = () => {}
  #onClose: (failure: Error) => void = () => {}

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('error', () => {})
    socket.on('close', () => this.#onClose(new Error('the service closed the connection')))
    let response = ''
    let at = 0n
    socket.on('data', (chunk: Buffer) => {
      if (response === '') at = process.hrtime.bigint()
      response += chunk.toString('latin1')
      const end = response.indexOf('\r\n\r\n')
      const length = Number(/^content-length: (\d+)/im.exec(response)?.[1])
      if (end < 0 || response.length < end + 4 + length) return
      const status = Number(response.slice(9, 12))
      response = ''
      this.#onResponse({ status, at })
    })
  }

  static async open(port: number): Promise<Line> {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true })
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    socket.once('connect', resolve).once('error', reject)
    await promise
    return new Line(socket)
  }

  get(
    path: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<{ status: number; micros: number }> {
    return this.#send(`GET ${path}`, headers, '')
  }

  post(
    path: string,
    headers: Readonly<Record<string, string>>,
    body: string,
  ): Promise<{ status: number; micros: number }> {
    const about = {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    }
    return this.#send(`POST ${path}`, { ...headers, ...about }, body)
  }

  #send(
    what: string,
    headers: Readonly<Record<string, string>>,
    body: string,
  ): Promise<{ status: number; micros: number }> {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const request = `${what} HTTP/1.1\r\nhost: localhost\r\n${lines.join('')}\r\n${body}`
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; micros: number }>()
    this.#onClose = reject
    const sent = process.hrtime.bigint()
    this.#onResponse = ({ status, at }) => resolve({ status, micros: Number(at - sent) / 1_000 })
    this.#socket.write(request)
    return promise
  }

  [Symbol.dispose](): void {
    this.#socket.destroy()
  }
}
