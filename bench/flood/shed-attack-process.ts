import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { respondToTasks } from '../http-calls.ts'

/** The parent's message: requests that one address repeats on all its connections. */
export interface ShedAttackTask {
  readonly port: number
  readonly requests: readonly ShedRequest[]
  readonly forMs: number
}

export interface ShedRequest {
  readonly method: string
  readonly path: string
  readonly authorization?: string
  readonly origin?: string
}

/** As many as the service as shipped lets one network have open, less a few. */
const CONNECTIONS = 250
/** Of another network than the tenants' backends, phones, and pages. */
const ADDRESS = '127.66.6.6'

respondToTasks(
  async ({ port, requests, forMs }: ShedAttackTask): Promise<{ readonly responses: number }> => {
    const payloads = requests.map(textOf)
    let responses = 0
    let isOver = false
    const sockets = Array.from({ length: CONNECTIONS }, (_, index) => {
      let next = index
      const socket = connect({ host: '127.0.0.1', port, localAddress: ADDRESS })
      const ask = () => void (isOver || socket.write(payloads[next++ % payloads.length] ?? ''))
      socket.on('data', (chunk: Buffer) => {
        if (!chunk.includes('HTTP/1.1 ')) return
        responses += 1
        ask()
      })
      socket.on('error', () => {})
      socket.on('connect', ask)
      return socket
    })
    await pause(forMs)
    isOver = true
    for (const socket of sockets) socket.destroy()
    return { responses }
  },
)

function textOf({ method, path, authorization, origin }: ShedRequest): string {
  const lines = [
    `${method} /api/v1${path} HTTP/1.1`,
    'host: flood',
    'content-length: 0',
    ...(authorization === undefined ? [] : [`authorization: Bearer ${authorization}`]),
    ...(origin === undefined ? [] : [`origin: ${origin}`]),
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}
