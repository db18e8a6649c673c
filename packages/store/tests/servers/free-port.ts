import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Systems give ports from 32,768, or higher ones, to outgoing connections. */
const PORTS = { from: 20_000, to: 32_768 } as const

/**
 * A port of 127.0.0.1 that no program uses. No outgoing connection can take it, neither before its
 * server starts, nor between the end of this server and its restart.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(PORTS.from, PORTS.to)
  const probe = createServer()
  const isFree = await new Promise<boolean>((done) => {
    probe.once('error', () => done(false))
    probe.listen(port, '127.0.0.1', () => done(true))
  })
  if (!isFree) return freePort()
  await new Promise((done) => probe.close(done))
  return port
}
