import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { WebSocket } from 'ws'
import { newKey } from '../../../../tests/harness/phone.ts'
import { NEXT_VERSION } from '../../../../tests/nodes/next-version.ts'
import {
  CREATE_TENANT,
  machine,
  type ServingProcess,
  until,
} from '../../../../tests/harness/process.ts'

/** A running service looks for changes of the command line every second, on an idle machine. */
const SEEN_WITHIN_MS = 60_000
const LONGEST_POLL_MS = 25_000

const m = machine()
let service: ServingProcess
let tenant: { tenant_id: string; publishable_key: string; server_credential: string }
before(async () => {
  service = await m.serve()
  tenant = m.json(...CREATE_TENANT)
})
after(async () => {
  await service[Symbol.asyncDispose]()
  m[Symbol.dispose]()
})

function call(
  path: string,
  token: string,
  { headers, ...init }: { method?: string; headers?: Record<string, string>; body?: string } = {},
) {
  return fetch(`${service.origin}/api/v1${path}`, {
    ...init,
    // A command blocks this process for seconds, and the service closes idle connections meanwhile.
    headers: { authorization: `Bearer ${token}`, connection: 'close', ...headers },
  })
}

async function create(token = tenant.server_credential): Promise<CreatedSession> {
  const created = await call('/sessions', token, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{}',
  })
  assert.equal(created.status, 201, await created.clone().text())
  return (await created.json()) as CreatedSession
}

async function register(): Promise<{ device_id: string; device_token: string }> {
  const post = async (path: string, body: object) => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify(body),
    }
    return (await fetch(`${service.origin}/api/v1${path}`, init)).json()
  }
  const { challenge } = (await post('/devices/challenges', {})) as { challenge: string }
  const { public_key } = newKey()
  return (await post('/devices', { format: 'software', challenge, public_key })) as {
    device_id: string
    device_token: string
  }
}

const statusWith = async (token: string) =>
  (await call(`/sessions/sess_${'0'.repeat(22)}`, token)).status

test('notifies the channel when the command line kills a session, with one event', async () => {
  const session = await create()
  const socket = new WebSocket(`${service.origin.replace('http', 'ws')}/sessions/${session.id}`, [
    'bonded.v1',
    `watch.${session.watch_token}`,
  ])
  const frames: {
    type: string
    state: string
    seq: number
    data: { ended_reason?: string }
  }[] = []
  const greeted = Promise.withResolvers<void>()
  socket.on('message', (data) => {
    frames.push(JSON.parse(String(data)))
    greeted.resolve()
  })
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  await greeted.promise

  const killed = await m.jsonMeanwhile('session', 'kill', session.id)
  assert.deepEqual([killed.state, killed.ended_reason], ['killed', 'killed_by_operator'])
  assert.equal(await closed, 1000)
  const last = frames.at(-1)
  assert.deepEqual(
    [last?.type, last?.state, last?.seq, last?.data.ended_reason],
    ['state', 'killed', 2, 'killed'],
  )

  const timeline = m.json('session', 'timeline', session.id) as {
    kind: string
    reason: string | null
  }[]
  assert.deepEqual(
    timeline.map(({ kind, reason }) => [kind, reason]),
    [
      ['created', null],
      ['killed', 'killed_by_operator'],
    ],
  )
  m.json('session', 'kill', session.id)
  assert.equal(
    m.json('session', 'timeline', session.id).length,
    2,
    'killing it again writes nothing',
  )
})

test('closes the channels of a publishable key that the command line revokes', async () => {
  const issue = ['key', 'issue', tenant.tenant_id, '--kind', 'publishable']
  const { key } = m.json(...issue)
  const session = await create()
  const socket = new WebSocket(
    `${service.origin.replace('http', 'ws')}/sessions/${session.id}`,
    ['bonded.v1', `watch.${session.watch_token}`, `key.${key}`],
    { origin: 'https://a.example' },
  )
  const closed = new Promise<number>((resolve) => socket.once('close', resolve))
  await new Promise((resolve) => socket.once('message', resolve))
  await m.jsonMeanwhile('key', 'revoke', key)
  assert.equal(await closed, 4401)
})

test('responds to a waiting poll when the command line kills its session', async () => {
  const session = await create()
  const polledAt = Date.now()
  const poll = call(
    `/sessions/${session.id}?wait_ms=${LONGEST_POLL_MS}&after=${session.seq}`,
    tenant.server_credential,
  )
  await m.jsonMeanwhile('session', 'kill', session.id)
  assert.equal(((await (await poll).json()) as { state: string }).state, 'killed')
  assert.ok(Date.now() - polledAt < LONGEST_POLL_MS, 'it did not wait for its own end')
})

test('accepts a rolled key beside its successor, and rejects a revoked key', async () => {
  const ends = m.json('key', 'issue', tenant.tenant_id, '--kind', 'server', '--expires', '90d')
  const days = (Date.parse(ends.expires_at) - Date.now()) / 86_400_000
  assert.ok(days > 89 && days <= 90, ends.expires_at)
  const listed = m.json('key', 'list', tenant.tenant_id)
  const row = listed.find(({ key }: { key: string }) => key === ends.key)
  assert.deepEqual(
    [row.expires_at, row.last_used_at, row.revoked_at],
    [ends.expires_at, null, null],
  )
  for (const [kind, expires] of [
    ['publishable', '90d'],
    ['server', '0d'],
    ['server', '731d'],
    ['server', '24h'],
  ] as const)
    assert.notEqual(
      m.run('key', 'issue', tenant.tenant_id, '--kind', kind, '--expires', expires).status,
      0,
      expires,
    )
  const issued = m.json('key', 'issue', tenant.tenant_id, '--kind', 'server')
  assert.equal(await statusWith(issued.server_credential), 404)
  const rolled = m.json('key', 'roll', issued.key, '--grace', '1h')
  assert.equal(rolled.replaces, issued.key)
  assert.deepEqual(
    [await statusWith(issued.server_credential), await statusWith(rolled.server_credential)],
    [404, 404],
  )
  const again = m.run('key', 'roll', issued.key)
  assert.deepEqual([again.status, /already being rolled/.test(again.stderr)], [1, true])
  m.json('key', 'revoke', issued.key)
  await until(
    async () => ((await statusWith(issued.server_credential)) === 401 ? true : undefined),
    SEEN_WITHIN_MS,
  )
  assert.equal(await statusWith(rolled.server_credential), 404)
  assert.match(m.run('key', 'list', tenant.tenant_id).stdout, new RegExp(`${issued.key} .*Z$`, 'm'))
})

test('keeps tenant and scope of a rolled publishable key, and revokes the old one at once with --grace 0', async () => {
  const issued = m.json(
    'key',
    'issue',
    tenant.tenant_id,
    '--kind',
    'publishable',
    '--workflow',
    'w:a',
  )
  const rolled = m.json('key', 'roll', issued.publishable_key, '--grace', '0')
  const session = await create()
  const read = (key: string) =>
    call(`/sessions/${session.id}`, key, {
      headers: { origin: 'https://a.example', 'x-bond-watch': session.watch_token ?? '' },
    })
  assert.deepEqual(
    [(await read(issued.publishable_key)).status, (await read(rolled.publishable_key)).status],
    [401, 200],
  )
})

test('rejects a blocked device at its next call, records it in the session, and rejects the token of a removed one', async () => {
  const session = await create()
  const { device_id, device_token } = await register()
  const claim = () =>
    call(`/sessions/${session.id}/claim`, device_token, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ nonce: session.nonce, device_id }),
    })
  assert.equal((await claim()).status, 200)
  assert.deepEqual(m.json('device', 'show', device_id).sessions, [session.id])
  assert.equal(m.json('device', 'list')[0].device_id, device_id)

  assert.deepEqual(m.json('device', 'block', device_id), {
    device_id,
    status: 'blocked',
    sessions: [session.id],
  })
  const rejected = await claim()
  assert.deepEqual(
    [rejected.status, ((await rejected.json()) as { error: { reason: string } }).error.reason],
    [400, 'device_not_usable'],
  )
  const timeline = m.run('session', 'timeline', session.id).stdout
  assert.match(timeline, /device_blocked {2}\(operator\)/)
  assert.doesNotMatch(timeline, /dev_/)
  assert.match(
    timeline,
    /^\(device_blocked\) The operator or the tenant had blocked the device\.$/m,
  )
  assert.equal(m.run('device', 'block', device_id).status, 1)
  assert.equal(m.json('device', 'list', '--status', 'blocked').length, 1)

  assert.deepEqual(m.json('device', 'unblock', device_id), {
    device_id,
    status: 'active',
    sessions: [session.id],
  })
  assert.equal((await claim()).status, 200)

  m.json('device', 'remove', device_id)
  const changes = (
    m.json('device', 'timeline', device_id) as { kind: string; step: string | null }[]
  ).map(({ kind, step }) => [kind, step])
  assert.deepEqual(changes, [
    ['registered', null],
    ['blocked', 'operator'],
    ['unblocked', 'operator'],
    ['removed', 'operator'],
  ])
  assert.match(m.run('device', 'timeline', device_id).stdout, /unblocked {2}\(operator\)/)
  assert.equal((await claim()).status, 401)
})

test('a blocked subject is rejected at its next call, shown as blocked, and serves again once unblocked', async () => {
  const { device_id, device_token } = await register()
  const { subject_id } = m.json('device', 'show', device_id) as { subject_id: string }
  const status = async () =>
    ((await (await call(`/devices/${device_id}`, device_token)).json()) as { status: string })
      .status
  assert.equal(await status(), 'active')
  assert.equal(m.run('subject', 'unblock', subject_id).status, 1)

  const blocked = m.json('subject', 'block', subject_id)
  assert.equal(typeof blocked.blocked_at, 'string')
  assert.equal(await status(), 'blocked')
  assert.match(
    m.run('subject', 'show', subject_id).stdout,
    new RegExp(`blocked by the operator since.*${device_id}`, 's'),
  )
  assert.equal(m.run('subject', 'block', subject_id).status, 1)

  assert.equal(m.json('subject', 'unblock', subject_id).blocked_at, null)
  assert.equal(await status(), 'active')
  assert.equal(m.run('subject', 'show', `sub_${'0'.repeat(22)}`).status, 3)
})

test('changes nothing beside a service of an older version, which lacks a migration', () => {
  const next = machine({ folder: m.folder, env: NEXT_VERSION })
  const codeOf = (...words: string[]) =>
    JSON.parse(next.run(...words, '--json').stderr).error.code as string
  assert.equal(codeOf('tenant', 'suspend', tenant.tenant_id), 'database_in_use')
  assert.equal(codeOf('migrate', 'up'), 'database_in_use')
  assert.equal(m.json('tenant', 'show', tenant.tenant_id).suspended_at, null)
})
