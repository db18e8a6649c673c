import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { COMMAND, CREATE_TENANT, machine } from '../../../tests/harness/process.ts'
import { freePorts } from '../../../tests/npm-start.ts'

const MINUTE_MS = 60_000

test('advances the clock of a sandbox without the demo, and no other', async () => {
  using m = machine()
  const [port] = await freePorts()
  const origin = `http://localhost:${port}`
  const sandbox = spawn(process.execPath, [...COMMAND, 'dev', '--no-demo', '--json'], {
    env: { ...process.env, BONDED_DATA_DIR: m.folder, BONDED_PORT: String(port) },
  })
  const ended = once(sandbox, 'exit')
  try {
    const [started] = await once(sandbox.stdout, 'data')
    assert.deepEqual(JSON.parse(String(started)), {
      service: origin,
      pid: sandbox.pid,
      port,
    })
    const { server_credential } = m.json(...CREATE_TENANT)
    const created = await fetch(`${origin}/api/v1/sessions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server_credential}` },
    })
    const { id } = (await created.json()) as { id: string }
    assert.equal(m.json('clock', 'show').ahead_ms, 0)
    assert.equal(m.json('clock', 'advance', '6m').ahead_ms, 6 * MINUTE_MS)
    const read = await fetch(`${origin}/api/v1/sessions/${id}`, {
      headers: { authorization: `Bearer ${server_credential}` },
    })
    assert.equal(((await read.json()) as { state: string }).state, 'expired')
    using production = machine({
      folder: m.folder,
      env: {
        BONDED_ENVIRONMENT: 'production',
        BONDED_PUBLIC_ORIGIN: 'https://bond.example',
        BONDED_ROOT_KEYS: `k1:${randomBytes(32).toString('base64url')}`,
      },
    })
    for (const words of [
      ['dev', '--no-demo'],
      ['clock', 'advance', '1m'],
    ])
      assert.match(production.run(...words).stderr, /sandbox\. Unset BONDED_ENVIRONMENT/)
  } finally {
    sandbox.kill()
    await ended
  }
  const { status, stderr } = m.run('clock', 'advance', '1m')
  assert.deepEqual([status, /No sandbox with a clock runs/.test(stderr)], [1, true])
  assert.equal(m.run('clock', 'advance', '0').status, 2)
})
