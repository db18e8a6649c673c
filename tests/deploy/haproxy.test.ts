import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { machine, until } from '../harness/process.ts'
import { walkGuide } from '../samples/guide.ts'

const PATH = { PATH: `${process.env.PATH}:/usr/sbin` }
const skip =
  spawnSync('haproxy', ['-v'], { env: PATH }).status === 0
    ? false
    : 'no haproxy (apt-get install haproxy)'

/** The lines of the guide. */
const CHECK = await walkGuide(
  { path: 'docs/guides/operate/proxy.md', test: import.meta.filename },
  async (next) => next()(),
)

/** Starts HAProxy in front of a node. */
async function startHaproxy(node: number) {
  const home = mkdtempSync(join(tmpdir(), 'bonded-haproxy-'))
  const port = await freePort()
  const admin = join(home, 'admin')
  const config = `global
  stats socket ${admin} level user
defaults
  mode http
  timeout connect 5s
  timeout check 20s
  timeout client 1h
  timeout server 1h
frontend all
  bind 127.0.0.1:${port}
  http-request set-header X-Forwarded-For %[src]
  default_backend nodes
backend nodes
  ${CHECK.trim()}
  server node 127.0.0.1:${node} check inter 100ms
`
  writeFileSync(join(home, 'haproxy.cfg'), config)
  const child = spawn('haproxy', ['-db', '-f', join(home, 'haproxy.cfg')], {
    env: PATH,
    stdio: 'ignore',
  })
  const exited = once(child, 'exit')
  return {
    port,
    /** The result of the latest check, such as `L7OK`. Undefined before the first one. */
    async checked(): Promise<string | undefined> {
      const socket = connect(admin)
      socket.write('show stat\n')
      const [head = '', ...rows] = (await text(socket)).replace(/^# /, '').split('\n')
      const node = rows.find((row) => row.startsWith('nodes,node,'))
      const status = node?.split(',')[head.split(',').indexOf('check_status')]
      return status === '' || status === 'INI' || status?.startsWith('*') ? undefined : status
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exited
      rmSync(home, { recursive: true, force: true })
    },
  }
}

test('the check of HAProxy as the guide shows it finds the service ready', { skip }, async () => {
  using m = machine({ env: { BONDED_TRUST_PROXY: '1' } })
  await using service = await m.serve()
  await using proxy = await startHaproxy(Number(new URL(service.origin).port))
  assert.equal(await until(() => proxy.checked().catch(() => undefined), 20_000), 'L7OK')
  const response = await fetch(`http://127.0.0.1:${proxy.port}/health/ready`)
  assert.equal(response.status, 200)
})
