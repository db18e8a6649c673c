import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import { mayConnect, type Site, siteOf } from './guard.ts'

/** Bytes. Pages only listen. */
const MAX_PAYLOAD = 64
/** More than the tabs of one user. */
const MAX_CONNECTIONS = 64

/** The live connections of the pages. */
export interface Live extends Disposable {
  /** Sends the current snapshot to every page, once in this turn of the event loop. */
  publish(): void
}

/** Serves `/live`: each page receives the whole snapshot at once, and after each change. */
export function serveLive(
  server: Server,
  { sites, snapshot }: { sites: readonly Site[]; snapshot: (site: Site) => object },
): Live {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_PAYLOAD,
    handleProtocols: () => 'demo',
  })
  const siteOfSocket = new WeakMap<object, Site>()
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    const site = siteOf(request, sites)
    const isAllowed = 'token' in site && request.url === '/live' && mayConnect(request, site)
    if (!isAllowed || sockets.clients.size >= MAX_CONNECTIONS) {
      socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
      return
    }
    sockets.handleUpgrade(request, socket, head, (page) => {
      siteOfSocket.set(page, site)
      page.on('error', () => page.terminate())
      page.on('message', () => page.terminate())
      page.send(JSON.stringify(snapshot(site)))
    })
  })
  let isScheduled = false
  return {
    publish() {
      if (isScheduled) return
      isScheduled = true
      setImmediate(() => {
        isScheduled = false
        for (const page of sockets.clients) {
          const site = siteOfSocket.get(page)
          if (site !== undefined) page.send(JSON.stringify(snapshot(site)))
        }
      })
    },
    [Symbol.dispose]() {
      for (const page of sockets.clients) page.terminate()
      sockets.close()
    },
  }
}
