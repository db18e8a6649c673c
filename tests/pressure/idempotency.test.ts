import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { TestClock } from '../harness/test-clock.ts'
import { testDatabase } from '../../packages/store/tests/servers/test-database.ts'
import { IS_FRESH } from '../random.ts'
import { choose, pause } from './chance.ts'
import { exchangeWith } from './exchange.ts'
import { addShop, run, workFolder } from './running.ts'

const KEYS = 2 * Number(process.env.PRESSURE_RACES ?? (IS_FRESH ? 500 : 100))
/**
 * Callers that send the same key at once: an impatient backend, its load balancer, and its second
 * node.
 */
const CALLERS = 6
/** Storms in progress at once. */
const BATCH = Math.min(20, KEYS)

const folder = workFolder()
const clock = new TestClock()
const postgres = await testDatabase()
const parts = { databaseFile: folder.databaseFile, clock, postgres }
const running = await run(parts)
// On PostgreSQL a second node works on the same keys. Each call goes to one of them.
const nodes = postgres === undefined ? [running] : [running, await run(parts)]
const exchange = exchangeWith(() => choose(nodes).port)
after(async () => {
  exchange[Symbol.dispose]()
  for (const node of nodes) await node[Symbol.asyncDispose]()
  await postgres?.drop()
  folder[Symbol.dispose]()
})
const shop = await addShop(running.service)
const [tenant] = await running.service.store.read((tables) => tables.tenants.list())
assert.ok(tenant)

/** The same JSON in two spellings: the service compares values. */
const SPELLINGS = [
  { workflow: 'w', action: 'a' },
  { action: 'a', workflow: 'w' },
]
const create = (key: string, body: object) =>
  exchange('POST', '/sessions', { token: shop.server, headers: { 'idempotency-key': key }, body })
const storedSessions = async () =>
  (
    await running.service.store.read((tables) =>
      tables.sessions.list({ tenantId: tenant.id, limit: 20_000 }),
    )
  ).sessions.length

test(`${KEYS} bursts with one Idempotency-Key each create ${KEYS} sessions, with identical responses per key`, async () => {
  const before = await storedSessions()
  const made = new Set<string>()
  const storm = async (key: string) => {
    const calls = Array.from({ length: CALLERS }, async () => {
      await pause(6)
      return create(key, choose(SPELLINGS))
    })
    const [first, ...others] = await Promise.all(calls)
    assert.ok(first)
    assert.equal(first.status, 201, first.text)
    for (const other of others) assert.deepEqual([other.status, other.text], [201, first.text])
    made.add(first.body.id)
  }
  for (let index = 0; index < KEYS; index += BATCH)
    await Promise.all(Array.from({ length: BATCH }, (_, n) => storm(`storm-${index + n}`)))
  assert.equal(made.size, KEYS)
  assert.equal((await storedSessions()) - before, KEYS)
})

test('accepts the first of two bodies that race with one key, and rejects the other', async () => {
  const before = await storedSessions()
  for (let index = 0; index < 200; index++) {
    const bodies = Array.from({ length: CALLERS }, (_, n) => ({
      workflow: 'w',
      end_user_address: n % 2 === 0 ? '192.0.2.1' : '192.0.2.2',
    }))
    const replies = await Promise.all(bodies.map((body) => create(`mixed-${index}`, body)))
    const won = replies.findIndex(({ status }) => status === 201) % 2
    for (const [n, reply] of replies.entries()) {
      if (n % 2 === won) assert.deepEqual([reply.status, reply.text], [201, replies[won]?.text])
      else
        assert.deepEqual(
          [reply.status, reply.body.error.code, reply.body.error.reason],
          [400, 'invalid_request', 'idempotency_mismatch'],
        )
    }
  }
  assert.equal((await storedSessions()) - before, 200)
})

test('returns the current session, with its secret, when its key is sent again', async () => {
  const [first] = SPELLINGS
  assert.ok(first)
  const key = 'again'
  const created = (await create(key, first)).body
  await exchange('DELETE', `/sessions/${created.id}`, { token: shop.server })
  const again = await create(key, first)
  assert.deepEqual(
    [again.status, again.body.id, again.body.state, again.body.completion_secret],
    [201, created.id, 'killed', created.completion_secret],
  )
})
