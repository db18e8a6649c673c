import { connect, createServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'

/** How the network treats WebSockets. Silent ones stay open, and carry nothing. */
export type Sockets = 'pass' | 'refuse' | 'silent'

/** The network between the browser and the service, which a test can disturb. */
export class Network implements AsyncDisposable {
  readonly port: number
  sockets: Sockets = 'pass'
  /** WebSocket handshakes that the browser has sent. */
  handshakes = 0
  #isDown = false
  readonly #open = new Set<Socket>()
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
  }

  /** Starts without a service. `leadTo` names its port. */
  static async start(): Promise<Network> {
    const server = createServer()
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    return new Network(server)
  }

  leadTo(port: number): void {
    this.#server.on('connection', (browser) => this.#join(browser, port))
  }

  /** Drops every connection, and rejects new ones until the network is back. */
  set isDown(isDown: boolean) {
    this.#isDown = isDown
    if (isDown) for (const socket of this.#open) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isDown = true
    await new Promise((done) => this.#server.close(done))
  }

  #join(browser: Socket, port: number): void {
    if (this.#isDown) return void browser.destroy()
    const service = connect(port, '127.0.0.1')
    let isWebSocket = false
    const close = () => {
      for (const socket of [browser, service]) {
        this.#open.delete(socket)
        socket.destroy()
      }
    }
    for (const socket of [browser, service]) {
      this.#open.add(socket)
      socket.on('error', close)
      socket.on('close', close)
    }
    browser.on('data', (bytes) => {
      if (/^upgrade: websocket/im.test(bytes.toString('latin1'))) {
        isWebSocket = true
        this.handshakes += 1
        if (this.sockets === 'refuse') return close()
      }
      service.write(bytes)
    })
    service.on('data', (bytes) => {
      if (!isWebSocket || this.sockets !== 'silent') browser.write(bytes)
    })
  }
}
