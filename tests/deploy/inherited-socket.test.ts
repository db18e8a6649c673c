import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openBackend } from '../harness/steady-backend.ts'
import { COMMAND, CREATE_TENANT, machine, until } from '../harness/process.ts'
import { skipWithoutNginx, startNginx } from './nginx.ts'

const PARENT = join(import.meta.dirname, 'socket-parent.py')
/** `RESTARTS=30` measures. */
const RESTARTS = Number(process.env.RESTARTS ?? 2)
const CALLERS = 4
const CALLS_A_RESTART = 100
const READY_WITHIN_MS = 60_000
const POLL_MS = 50

test('a service whose parent keeps its socket loses no call in a restart', {
  skip: skipWithoutNginx,
  timeout: 600_000,
}, async (t) => {
  using m = machine()
  const { server_credential: credential } = m.json(...CREATE_TENANT)
  const env = {
    ...process.env,
    BONDED_DATA_DIR: m.folder,
    BONDED_PUBLIC_ORIGIN: 'http://localhost:1',
    BONDED_TRUST_PROXY: '1',
    BONDED_DRAIN_SECONDS: '2',
    // The callers make more calls than one backend is given on a fast machine.
    BONDED_RATE_LIMITS: 'create=600000,get=600000,backend=600000,not_found=600000',
    // Another service has this port, so only the socket can be used.
    BONDED_PORT: '1',
  }
  const parent = spawn('python3', [PARENT, process.execPath, ...COMMAND, 'serve'], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(parent, 'exit')
  try {
    let output = ''
    parent.stdout.on('data', (chunk) => (output += String(chunk)))
    const timesReady = () => output.split('ready: ').length - 1
    const untilTrue = (condition: () => boolean) =>
      until(async () => {
        await once(parent.stdout, 'data', { signal: AbortSignal.timeout(POLL_MS) }).catch(() => {})
        return condition() || undefined
      }, READY_WITHIN_MS)
    const untilReady = (times: number) => untilTrue(() => timesReady() === times)
    await untilReady(1)
    await using proxy = await startNginx([Number(output.split('\n', 1)[0])])
    using backend = openBackend(proxy.port, credential)
    const restarted = new AbortController()
    const work = async () => {
      while (!restarted.signal.aborted) await backend.runSession()
    }
    const restart = async () => {
      for (let restarts = 1; restarts <= RESTARTS; restarts++) {
        const before = backend.counts().calls
        process.kill(Number(readFileSync(join(m.folder, 'service.pid'), 'utf8')), 'SIGTERM')
        await untilReady(restarts + 1)
        await untilTrue(() => backend.counts().calls >= before + CALLS_A_RESTART)
      }
    }
    await Promise.all([
      restart().finally(() => restarted.abort()),
      ...Array.from({ length: CALLERS }, work),
    ])
    const { calls, failed } = backend.counts()
    t.diagnostic(`${calls} calls, ${RESTARTS} restarts`)
    assert.deepEqual(failed, [])
  } finally {
    parent.stdin.end()
    await ended
  }
})
