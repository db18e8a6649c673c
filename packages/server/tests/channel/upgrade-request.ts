/** Builds the raw upgrade request of a session's channel, with additional headers. */
export function upgradeRequest(
  session: { id: string; watch_token: string },
  headers: Record<string, string>,
): string {
  const allHeaders = {
    Host: 'x',
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Protocol': `bonded.v1, watch.${session.watch_token}`,
    ...headers,
  }
  const lines = Object.entries(allHeaders).map(([name, value]) => `${name}: ${value}\r\n`)
  return `GET /sessions/${session.id} HTTP/1.1\r\n${lines.join('')}\r\n`
}
