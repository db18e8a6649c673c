import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP proxy whose connections a test can break, to a port of this machine. */
export interface TcpProxy extends AsyncDisposable {
  readonly port: number
  /** Resets all connections. New ones work. */
  cut(): void
  /** Resets all connections, and rejects new ones until `restore`. */
  refuse(): void
  /** Stops passing bytes, in both directions and on new connections too, until `restore`. */
  stall(): void
  /** Passes bytes to the target and none back, until `restore`: a half-open connection. */
  deafen(): void
  /** Passes every chunk this many milliseconds later. */
  delay(ms: number): void
  /** Ends every fault. Bytes that were stalled are passed on. */
  restore(): void
}

type Mode = 'pass' | 'refuse' | 'stall' | 'deafen'

let exits = false
/**
 * Skips Node's own cleanup at the exit of this process. It waits for requests of sockets that were
 * reset, which sometimes never end: Node then spins in `CleanupHandles`.
 */
function exitWithoutCleanup(): void {
  if (exits) return
  exits = true
  // Registered after the listeners of the test runner, which set the exit code.
  process.on('exit', () => process.exit())
}

/** Starts a proxy to a port of 127.0.0.1. */
export async function startProxy(target: number): Promise<TcpProxy> {
  exitWithoutCleanup()
  let mode: Mode = 'pass'
  let delayMs = 0
  const pairs = new Set<{ readonly client: Socket; readonly server: Socket }>()
  /** Stops or resumes the reading ends by the mode. */
  const apply = () => {
    for (const { client, server } of pairs) {
      if (mode === 'stall') client.pause()
      else client.resume()
      if (mode === 'stall' || mode === 'deafen') server.pause()
      else server.resume()
    }
  }
  const cut = () => {
    for (const { client, server } of pairs) {
      client.resetAndDestroy()
      server.destroy()
    }
  }
  const listener = createServer({ noDelay: true }, (client) => {
    if (mode === 'refuse') {
      client.resetAndDestroy()
      return
    }
    const server = connect({ port: target, host: '127.0.0.1', noDelay: true })
    const pair = { client, server }
    pairs.add(pair)
    const forward = (from: Socket, to: Socket) => {
      from.on('data', (chunk: Buffer) => {
        if (delayMs === 0) to.write(chunk)
        else setTimeout(() => to.writable && to.write(chunk), delayMs)
      })
      from.on('error', () => to.destroy())
      from.on('close', () => {
        pairs.delete(pair)
        to.destroy()
      })
    }
    forward(client, server)
    forward(server, client)
    apply()
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const enter = (next: Mode) => {
    mode = next
    apply()
  }
  return {
    port: (listener.address() as AddressInfo).port,
    cut,
    refuse() {
      enter('refuse')
      cut()
    },
    stall: () => enter('stall'),
    deafen: () => enter('deafen'),
    delay: (ms) => void (delayMs = ms),
    restore() {
      delayMs = 0
      enter('pass')
    },
    async [Symbol.asyncDispose]() {
      const closed = once(listener, 'close')
      listener.close()
      cut()
      await closed
    },
  }
}
