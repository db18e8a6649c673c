import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type { WebhookEvent } from '@bonded/contract'

/** A delivery as a receiver gets it. */
export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly event: WebhookEvent
}

/** What a receiver does with a delivery once it has read it. */
export type Behavior = (response: ServerResponse, socket: Socket) => void

export const accepts: Behavior = (response) => response.writeHead(204).end()
export const fails: Behavior = (response) => response.writeHead(500).end('broken')

/** A receiver of webhooks on this machine, whose behavior the test sets. */
export async function webhookReceiver() {
  const received: Received[] = []
  const behavior = { now: accepts }
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ headers: request.headers, body, event: JSON.parse(body) })
      behavior.now(response, request.socket)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    host: `127.0.0.1:${port}`,
    url: `http://127.0.0.1:${port}/hook`,
    received,
    behavior,
    ids: () => received.map(({ event }) => event.id),
    types: () => received.map(({ event }) => event.type),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
