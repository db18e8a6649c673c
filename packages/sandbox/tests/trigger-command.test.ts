import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CREATE_TENANT, machine } from '../../../tests/harness/process.ts'

test('causes an event of a running sandbox, and says that no endpoint receives it', async () => {
  using m = machine()
  await using serving = await m.serve()
  const { server_credential } = m.json(...CREATE_TENANT)
  using backend = machine({
    folder: m.folder,
    env: { BONDED_SERVER_CREDENTIAL: server_credential },
  })
  const words = ['trigger', 'session.killed', '--reason', 'canceled', '--origin', serving.origin]
  const { session_id, ...caused } = await backend.jsonMeanwhile(...words)
  assert.deepEqual(
    [caused.event, caused.reason, caused.endpoints],
    ['session.killed', 'canceled', 0],
  )
  assert.equal(m.json('session', 'show', session_id).ended_reason, 'canceled')
  assert.ok(!serving.output().includes(server_credential))
})

test('causes nothing in a production service, or without a credential', () => {
  using production = machine({
    env: {
      BONDED_ENVIRONMENT: 'production',
      BONDED_PUBLIC_ORIGIN: 'https://bond.example',
      BONDED_ROOT_KEYS: `k1:${'A'.repeat(43)}`,
      BONDED_SERVER_CREDENTIAL: 'sk_beta_0',
    },
  })
  using bare = machine()
  for (const [m, message] of [
    [production, /needs a sandbox/],
    [bare, /Set BONDED_SERVER_CREDENTIAL/],
  ] as const) {
    const { status, stdout } = m.run('trigger', 'session.created', '--json')
    assert.equal(status, 1)
    assert.match(JSON.parse(stdout).error.message, message)
  }
})
