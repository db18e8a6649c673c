import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The reason to skip the tests of Redis, if there is no server. */
export const redisMissing =
  spawnSync('redis-server', ['--version']).status !== 0 &&
  'redis-server is missing: apt-get install redis-server'

/** The characters of a server's log that an error has. */
const KEPT_LOG = 2_000

/** A server on a Unix socket, and one connection to it. */
export async function startRedis() {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-redis-'))
  const path = join(folder, 'socket')
  const options = ['--port', '0', '--unixsocket', path, '--save', '', '--dir', folder]
  const server = spawn('redis-server', options, { stdio: ['ignore', 'pipe', 'ignore'] })
  let log = ''
  for await (const text of server.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    log += text
    if (/ready to accept/i.test(log)) break
  }
  server.stdout.on('data', (text) => (log = (log + text).slice(-KEPT_LOG)))
  // Its clients would wait for their replies without an end.
  const endedByItself = (code: number | null, signal: string | null) => {
    throw new Error(`redis-server ended by itself with ${code ?? signal}: ${log}`)
  }
  server.once('exit', endedByItself)
  const { send, socket } = await connectRedis(path)
  return {
    send,
    path,
    async close() {
      socket.destroy()
      server.off('exit', endedByItself)
      // While Redis writes its first append-only file, it does not end with SIGTERM.
      server.kill('SIGKILL')
      await once(server, 'exit')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A connection to a server. */
export async function connectRedis(path: string) {
  const socket = connect(path)
  await once(socket, 'connect')

  let received = ''
  const waiting: ((reply: unknown) => void)[] = []
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text
    for (let reply = parse(received, 0); reply; reply = parse(received, 0)) {
      received = received.slice(reply.end)
      waiting.shift()?.(reply.value)
    }
  })
  return {
    send: (command: readonly string[]) =>
      new Promise<unknown>((resolve, reject) => {
        waiting.push((reply) => (reply instanceof Error ? reject(reply) : resolve(reply)))
        const parts = command.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`)
        socket.write(`*${command.length}\r\n${parts.join('')}`)
      }),
    socket,
  }
}

/** One reply of RESP2, of bytes as latin1; undefined if it is not complete. */
function parse(text: string, at: number): { value: unknown; end: number } | undefined {
  const lineEnd = text.indexOf('\r\n', at)
  if (lineEnd < 0) return undefined
  const [kind, line, next] = [text[at], text.slice(at + 1, lineEnd), lineEnd + 2]
  if (kind === '+') return { value: line, end: next }
  if (kind === '-') return { value: new Error(line), end: next }
  const count = Number(line)
  if (kind === ':') return { value: count, end: next }
  if (count < 0) return { value: null, end: next }
  if (kind === '$')
    return text.length < next + count + 2
      ? undefined
      : { value: decoded(text.slice(next, next + count)), end: next + count + 2 }
  const values: unknown[] = []
  let end = next
  while (values.length < count) {
    const reply = parse(text, end)
    if (!reply) return undefined
    values.push(reply.value)
    end = reply.end
  }
  return { value: values, end }
}

function decoded(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString()
}
