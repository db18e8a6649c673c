import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'
import { checkedSend, fetchBy } from '../src/checked-send.ts'
import { cibaHarness } from './harness.ts'
import { startReceiver } from './receiver.ts'

/** What the client recognizes a notification by (CIBA, section 7.1). */
const client_notification_token = 'YDFrbK3vYSzTWJrGn9eZyw'

async function pinged(t: TestContext) {
  const receiver = await startReceiver(t)
  const h = await cibaHarness(t, { receiver })
  const { auth_req_id } = await h.ask({
    login_hint: h.inbox.subjectRef,
    client_notification_token,
  })
  return {
    h,
    receiver,
    auth_req_id,
    /** How many notifications wait. The watcher has ended its turn before. */
    waiting: async (): Promise<number> => {
      await new Promise((resolve) => void setImmediate(resolve))
      using db = new DatabaseSync(join(h.folder, 'ciba.db'))
      const row = db.prepare("select count(*) as count from oidc where kind = 'Notice'").get()
      return Number(row?.['count'])
    },
  }
}

type Pinged = Awaited<ReturnType<typeof pinged>>

const ANSWERS: Readonly<Record<string, (h: Pinged['h']) => Promise<unknown>>> = {
  approves: (h) => h.approve(),
  declines: (h) => h.decline(),
  reports: (h) => h.decline('user_unexpected'),
}

for (const [answer, give] of Object.entries(ANSWERS))
  test(`notifies a client in ping mode when the user ${answer}, with its request alone`, async (t) => {
    const { h, receiver, auth_req_id, waiting } = await pinged(t)
    assert.equal(receiver.all.length, 0)
    await give(h)
    const { path, headers, body } = await receiver.next()
    assert.deepEqual(
      [path, headers.authorization, headers['content-type'], body],
      ['/ciba', `Bearer ${client_notification_token}`, 'application/json', { auth_req_id }],
    )
    const polled = h.poll(auth_req_id)
    if (answer === 'approves') assert.ok((await polled).access_token)
    else await assert.rejects(polled, { error: 'access_denied' })
    const { client, level } = await h.logged('notified a client')
    assert.deepEqual([client, level], ['invoice-agent', 30])
    assert.equal(await waiting(), 0)
    assert.equal(receiver.all.length, 1)
  })

test('a notification decides nothing: a block after it still gives no token', async (t) => {
  const { h, receiver, auth_req_id } = await pinged(t)
  await h.approve()
  await receiver.next()
  const path = `/subjects/${h.inbox.subjectRef}/block`
  assert.equal((await h.inbox.h.api('POST', path, { token: h.credential })).status, 200)
  await assert.rejects(h.poll(auth_req_id), { error: 'access_denied' })
})

for (const status of [301, 401, 403])
  test(`a client that responds with ${status} is notified once, and can poll`, async (t) => {
    const { h, receiver, auth_req_id, waiting } = await pinged(t)
    receiver.statuses.push(status)
    await h.approve()
    await receiver.next()
    assert.equal((await h.logged('a client was not notified'))['repeated'], false)
    assert.equal(await waiting(), 0)
    assert.ok((await h.poll(auth_req_id)).access_token)
    assert.deepEqual(
      receiver.all.map(({ path }) => path),
      ['/ciba'],
    )
  })

test('a notification is repeated after 10 s, also by another process', async (t) => {
  const { h, receiver, waiting } = await pinged(t)
  receiver.statuses.push(503)
  await h.approve()
  await receiver.next()
  assert.equal((await h.logged('a client was not notified'))['repeated'], true)
  assert.equal(await waiting(), 1)
  await h.restart()
  h.pause(10_000)
  h.running.notices.watch()
  const { body } = await receiver.next()
  assert.deepEqual(body, receiver.all[0]?.body)
  await h.logged('notified a client')
  assert.equal(await waiting(), 0)
})

test('a client in ping mode can poll, and its request is then in no file', async (t) => {
  const { h, auth_req_id, receiver } = await pinged(t)
  // The client has polled before it is notified.
  receiver.statuses.push(0)
  await h.approve()
  const tokens = await h.poll(auth_req_id)
  using db = new DatabaseSync(join(h.folder, 'ciba.db'))
  db.exec('pragma wal_checkpoint(truncate)')
  const file = readFileSync(join(h.folder, 'ciba.db'), 'latin1')
  for (const secret of [auth_req_id, tokens.access_token])
    assert.equal(file.includes(secret), false)
})

test('a client in ping mode cannot ask without a token for its notification', async (t) => {
  const receiver = await startReceiver(t)
  const h = await cibaHarness(t, { receiver })
  await assert.rejects(h.ask({ login_hint: h.inbox.subjectRef }), { error: 'invalid_request' })
  assert.equal(await h.waiting(), 0)
})

test('a notification goes to no private address that the operator has not allowed', async (t) => {
  const receiver = await startReceiver(t)
  const init = { method: 'POST', body: '{}' }
  const send = (hosts: readonly string[]) =>
    fetchBy(checkedSend(hosts, t.signal))(receiver.endpoint, init)
  await assert.rejects(send([]), /address_rejected/)
  assert.equal(receiver.all.length, 0)
  assert.equal((await send([receiver.host])).status, 204)
})
