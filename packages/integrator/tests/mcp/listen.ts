import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Serves HTTP on a free port of this machine. */
export async function listen(
  handle: (request: IncomingMessage, response: ServerResponse) => Promise<unknown> | undefined,
) {
  const http = createServer((request, response) => {
    Promise.resolve(handle(request, response)).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  return {
    url: new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`),
    async close() {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}
