import type { ServerFrame } from '@bonded/contract'
import { WebSocket } from 'ws'
import { SHOP_ORIGIN } from './harness.ts'

/** How a test's channel differs from the phone's, which sends the watch token alone. */
export interface ChannelOptions {
  /** Simulates a browser: offers the publishable key and, unless given, sends the shop's Origin. */
  readonly key?: string
  readonly origin?: string
  /** Replaces all other subprotocols. */
  readonly protocols?: readonly string[]
  readonly after?: number
  /** Omitted by default, so that a test sees the frames of changes only. */
  readonly heartbeats?: true
}

/** Opens a channel. `next` returns its frames one by one, in order of arrival. */
export function openChannel(
  port: number,
  session: { readonly id: string; readonly watch_token: string },
  { key, origin, protocols, after, heartbeats }: ChannelOptions = {},
) {
  const offered = [
    'bonded.v1',
    `watch.${session.watch_token}`,
    ...(key === undefined ? [] : [`key.${key}`]),
    ...(after === undefined ? [] : [`after.${after}`]),
  ]
  const from = origin ?? (key === undefined ? undefined : SHOP_ORIGIN)
  const socket = new WebSocket(
    `ws://127.0.0.1:${port}/sessions/${session.id}`,
    [...(protocols ?? offered)],
    from === undefined ? {} : { origin: from },
  )
  const frames: ServerFrame[] = []
  const waiting: ((frame: ServerFrame) => void)[] = []
  socket.on('message', (data) => {
    const frame = JSON.parse(String(data)) as ServerFrame
    if (frame.type === 'heartbeat' && heartbeats === undefined) return
    const next = waiting.shift()
    if (next) next(frame)
    else frames.push(frame)
  })
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  const rejected = new Promise<{
    status: number
    body: { error: { code: string; reason: string } }
  }>((resolve, reject) => {
    socket.once('open', () => reject(new Error('the service opened the channel')))
    socket.once('unexpected-response', (_request, response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += String(chunk)
      })
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }),
      )
    })
  })
  socket.on('error', () => {})
  // Most callers expect the channel to open, and do not await this.
  rejected.catch(() => {})
  return {
    socket,
    closed,
    rejected,
    next: () =>
      frames.length > 0
        ? Promise.resolve(frames.shift() as ServerFrame)
        : new Promise<ServerFrame>((resolve) => waiting.push(resolve)),
  }
}
