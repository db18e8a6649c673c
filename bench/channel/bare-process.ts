import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { HEARTBEAT_MS } from '../../packages/server/src/channel/frames.ts'
import { respondToRequests, type Ready } from '../process.ts'
import { HEARTBEATS } from './task.ts'

/**
 * The peer of the channel benchmark: bare ws with one socket per path and the usual listeners. It
 * greets a socket with as many bytes as the socket's URL names. A POST sends one frame and one
 * response of the sizes it names. A POST to `/heartbeats` starts frames of the size it names, to
 * each socket as often as the service sends its own. The process checks and stores nothing.
 */
const EVERY_MS = 10
const sockets = new Map<string, WebSocket>()
const channel = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  handleProtocols: () => 'bonded.v1',
})

/** Sends to a part of the sockets at a time, because the sockets of a service differ in phase. */
function sendHeartbeats(frame: string): void {
  let from = performance.now()
  setInterval(() => {
    const until = performance.now()
    let at = 0
    for (const socket of sockets.values())
      if (isDue((HEARTBEAT_MS * at++) / sockets.size, { from, until })) socket.send(frame)
    from = until
  }, EVERY_MS)
}

/** Whether an interval of heartbeats that began at a phase ends in the time. */
function isDue(
  phaseMs: number,
  { from, until }: { readonly from: number; readonly until: number },
): boolean {
  return Math.floor((until - phaseMs) / HEARTBEAT_MS) > Math.floor((from - phaseMs) / HEARTBEAT_MS)
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  request.resume()
  await once(request, 'end')
  const [path = '', frameBytes, replyBytes] = (request.url ?? '').split('?')
  if (path === HEARTBEATS) sendHeartbeats('x'.repeat(Number(frameBytes)))
  sockets.get(path)?.send('x'.repeat(Number(frameBytes)))
  response
    .writeHead(200, { 'content-type': 'application/json', 'content-length': Number(replyBytes) })
    .end('x'.repeat(Number(replyBytes)))
}

const server = createServer((request, response) => void respond(request, response))
server.on('upgrade', (request, socket, head) => {
  const [path = '', helloBytes] = (request.url ?? '').split('?')
  channel.handleUpgrade(request, socket, head, (webSocket) => {
    sockets.set(path, webSocket)
    webSocket.on('error', () => webSocket.terminate())
    webSocket.once('close', () => sockets.delete(path))
    webSocket.send('x'.repeat(Number(helloBytes)))
  })
})
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  respondToRequests({ port, credential: 'none' } satisfies Ready)
})
