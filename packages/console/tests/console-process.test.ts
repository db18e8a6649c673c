import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { firstOutput } from '../../../tests/harness/first-output.ts'
import { freePort } from '../../store/tests/servers/free-port.ts'
import { COMMAND, CREATE_TENANT, machine } from '../../../tests/harness/process.ts'
import { CLIENT, honestProvider } from './honest-provider.ts'
import { Visitor } from './http-client.ts'

const m = machine()
after(() => m[Symbol.dispose]())

test('a console that is killed leaves the service and its database as they were', async () => {
  await using service = await m.serve()
  const tenant = m.json(...CREATE_TENANT)
  const port = await freePort()
  const origin = `http://localhost:${port}`
  await using provider = await honestProvider(origin)
  const file = join(m.folder, 'access.yaml')
  writeFileSync(join(m.folder, 'secret'), CLIENT.client_secret)
  writeFileSync(
    file,
    `{origin: "${origin}", issuer: "${provider.issuer}", client_id: console, client_secret_file: secret, roles: {admin: [operators]}}`,
  )
  const { NODE_TEST_CONTEXT: _testContext, ...env } = process.env
  const words = [...COMMAND, 'console', '--access', file, '--listen', `127.0.0.1:${port}`, '--json']
  const start = async () => {
    const child = spawn(process.execPath, words, {
      env: { ...env, BONDED_DATA_DIR: m.folder },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    assert.equal(JSON.parse(await firstOutput(child)).ready, origin)
    return { child, ended: once(child, 'exit') }
  }
  const first = await start()
  const visitor = new Visitor(origin)
  const shown = await visitor.open(`/tenants/${tenant.tenant_id}`)
  assert.equal(shown.status, 200, shown.text)
  first.child.kill('SIGKILL')
  await first.ended
  const created = await fetch(`${service.origin}/api/v1/sessions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${tenant.server_credential}`,
      'content-type': 'application/json',
    },
    body: '{}',
  })
  assert.equal(created.status, 201)
  const second = await start()
  // The session ended with the process. The provider's own session begins another one.
  assert.equal((await visitor.open('/changes')).status, 200)
  second.child.kill('SIGTERM')
  assert.deepEqual(await second.ended, [0, null])
  const { entries } = m.json('audit', 'list', '--action', 'console sign-in')
  assert.deepEqual(
    entries.map((entry: Record<string, unknown>) => [entry['actor'], entry['actor_kind']]),
    [
      ['ada', 'console'],
      ['ada', 'console'],
    ],
  )
})
