import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { answerQuestions, type Ready } from './process.ts'

/**
 * The peer of the channel benchmark: bare ws with one socket per path and the usual listeners. It
 * greets a socket with as many bytes as the socket's URL names. A POST sends one frame and one
 * response of the sizes it names. The process checks and stores nothing.
 */
const sockets = new Map<string, WebSocket>()
const channel = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  handleProtocols: () => 'bonded.v1',
})

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  request.resume()
  await once(request, 'end')
  const [path = '', frameBytes, replyBytes] = (request.url ?? '').split('?')
  sockets.get(path)?.send('x'.repeat(Number(frameBytes)))
  response
    .writeHead(200, { 'content-type': 'application/json', 'content-length': Number(replyBytes) })
    .end('x'.repeat(Number(replyBytes)))
}

const server = createServer((request, response) => void answer(request, response))
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
  answerQuestions({ port, credential: 'none' } satisfies Ready, () => {})
})
