import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { firstOutput } from '../../../tests/harness/first-output.ts'
import { COMMAND, CREATE_TENANT, machine, until } from '../../../tests/harness/process.ts'
import { webhookReceiver } from '../../server/tests/webhook-receiver.ts'

const WITHIN_MS = 60_000

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
  const tail = backend.run('session', 'tail', session_id, '--json').stdout.trim().split('\n')
  assert.equal(JSON.parse(tail[0] ?? '').kind, 'created')
  assert.deepEqual(JSON.parse(tail.at(-1) ?? ''), {
    session_id,
    state: 'killed',
    ended_reason: 'canceled',
  })
  const { stderr } = m.run('open', session_id, '--json')
  assert.equal(JSON.parse(stderr).error.code, 'conflict')
  const created = await fetch(`${serving.origin}/api/v1/sessions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server_credential}` },
  })
  const { id } = (await created.json()) as { id: string }
  assert.match(m.json('open', id).url, new RegExp(`/bond\\?session_id=${id}&nonce=`))
  assert.ok(!serving.output().includes(server_credential))
})

test('forwards the events that a trigger causes to a receiver on this machine', async () => {
  await using receiver = await webhookReceiver()
  using m = machine()
  await using serving = await m.serve()
  const { server_credential } = m.json(...CREATE_TENANT)
  const variables = { BONDED_SERVER_CREDENTIAL: server_credential }
  using backend = machine({ folder: m.folder, env: variables })
  const at = ['--origin', serving.origin]
  const words = ['listen', '--forward-to', receiver.url, ...at, '--json']
  const listening = spawn(process.execPath, [...COMMAND, ...words], {
    env: { ...process.env, ...variables, BONDED_DATA_DIR: m.folder },
  })
  const ended = once(listening, 'exit')
  try {
    assert.match(JSON.parse(await firstOutput(listening)).secret, /^whsec_/)
    const { session_id, endpoints } = await backend.jsonMeanwhile(
      'trigger',
      'session.created',
      ...at,
    )
    assert.equal(endpoints, 1)
    const received = async () => {
      await setImmediate()
      return receiver.received[0]
    }
    assert.equal((await until(received, WITHIN_MS)).event.data.session?.id, session_id)
  } finally {
    listening.kill()
    await ended
  }
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
  const trigger = ['trigger', 'session.created']
  const listen = ['listen', '--forward-to', 'http://localhost:1']
  for (const [m, words, message] of [
    [production, trigger, /needs a sandbox/],
    [production, listen, /needs a sandbox/],
    [production, ['open', 'portal'], /needs a sandbox/],
    [bare, trigger, /Set BONDED_SERVER_CREDENTIAL/],
  ] as const) {
    const { status, stderr } = m.run(...words, '--json')
    assert.equal(status, 1, words.join(' '))
    assert.match(JSON.parse(stderr).error.message, message)
  }
})
