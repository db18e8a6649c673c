import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { firstOutput } from '../../../tests/harness/first-output.ts'
import { COMMAND, CREATE_TENANT, machine, until } from '../../../tests/harness/process.ts'
import { freePorts } from '../../../tests/npm-start.ts'

const MINUTE_MS = 60_000
const WITHIN_MS = 60_000
const REJECTED = /has the production tenant ten_\w+, so it belongs to no sandbox/

test('a sandbox without the demo answers test values, and alone has a clock', async () => {
  using m = machine()
  const [port] = await freePorts()
  const origin = `http://localhost:${port}`
  const sandbox = spawn(process.execPath, [...COMMAND, 'dev', '--no-demo', '--json'], {
    env: { ...process.env, BONDED_DATA_DIR: m.folder, BONDED_PORT: String(port) },
  })
  const ended = once(sandbox, 'exit')
  try {
    assert.deepEqual(JSON.parse(await firstOutput(sandbox)), {
      service: origin,
      pid: sandbox.pid,
      port,
    })
    const { server_credential } = m.json(...CREATE_TENANT, '--workflow', 'p:a:passport=required')
    const created = await fetch(`${origin}/api/v1/sessions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server_credential}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ workflow: 'w', action: 'a' }),
    })
    const { id } = (await created.json()) as { id: string }
    const read = async (session: { readonly id: string }) => {
      const response = await fetch(`${origin}/api/v1/sessions/${session.id}`, {
        headers: { authorization: `Bearer ${server_credential}` },
      })
      return (await response.json()) as { state: string }
    }
    const answerTo = async (workflow: string, value: string) => {
      const answered = await fetch(`${origin}/api/v1/sessions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${server_credential}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({
          workflow,
          action: 'a',
          context: { display: [{ label: 'Name', value }] },
        }),
      })
      const session = (await answered.json()) as { id: string }
      return until(async () => {
        await setImmediate()
        const { state } = await read(session)
        return state === 'bonded' || state === 'killed' ? state : undefined
      }, WITHIN_MS)
    }
    assert.equal(await answerTo('w', 'test_user_declined'), 'killed')
    // This service alone trusts the passport of its phone.
    assert.equal(await answerTo('p', 'test_bonded'), 'bonded')
    assert.equal(m.json('clock', 'show').ahead_ms, 0)
    assert.equal(m.json('clock', 'advance', '6m').ahead_ms, 6 * MINUTE_MS)
    assert.equal((await read({ id })).state, 'expired')
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
      ['phone', 'register'],
    ])
      assert.match(production.run(...words).stderr, /sandbox\. Unset BONDED_ENVIRONMENT/)
    const live = ['--name', 'Live', '--environment', 'production', '--workflow', 'w:a']
    m.json('tenant', 'create', ...live, '--origin', 'https://live.example')
    // Without BONDED_ENVIRONMENT, as in a shell beside the service.
    assert.match(m.run('clock', 'advance', '1m').stderr, REJECTED)
    assert.equal(m.json('clock', 'show').ahead_ms, 6 * MINUTE_MS)
    const { stderr } = m.run('open', id)
    assert.match(stderr, REJECTED)
    using asBackend = machine({
      folder: m.folder,
      env: { BONDED_SERVER_CREDENTIAL: server_credential },
    })
    assert.match(asBackend.run('trigger', 'session.bonded').stderr, REJECTED)
  } finally {
    sandbox.kill()
    await ended
  }
  const { status, stderr } = m.run('clock', 'advance', '1m')
  assert.deepEqual([status, /No sandbox with a clock runs/.test(stderr)], [3, true])
  assert.equal(m.run('clock', 'advance', '0').status, 2)
  assert.match(m.run('dev', '--no-demo').stderr, REJECTED)
})
