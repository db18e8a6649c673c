import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { issueKey, listKeys, revokeKey } from '../../../../core/src/operations/admin/keys.ts'
import { rollKey, undoRoll } from '../../../../core/src/operations/admin/roll-key.ts'
import { watchCredentials } from '../../../../core/src/operations/session/watch-credentials.ts'
import { noMeter } from '../../../../core/src/ports/meter.ts'
import { type Harness, harness } from '../../../../../tests/harness/harness.ts'
import { ClockGuard } from '../../../src/clock-guard.ts'
import { startMaintenance } from '../../../src/maintenance.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

async function issue(h: Harness, lifetimeMs?: number) {
  const tenantId = h.shop.tenant.id
  const scope = [{ workflow: 'wire_transfer', actions: ['approve_wire'] }]
  const issued = await issueKey(h.service, { tenantId, kind: 'server', scope, lifetimeMs })
  return { key: issued.key, keys: { ...h.shop, server: issued.secret.reveal() } }
}

async function listed(h: Harness, key: string) {
  const keys = await listKeys(h.service, h.shop.tenant.id)
  return keys.find((listing) => listing.key === key)
}

test('a credential works until its expiry, and its successor has the same lifetime', async () => {
  await using h = await harness()
  const { key, keys } = await issue(h, 90 * DAY_MS)
  const expiresAt = h.clock.now() + 90 * DAY_MS
  assert.deepEqual((await listed(h, key))?.expiresAt, expiresAt)
  const session = await h.create({}, keys)
  h.clock.advance(80 * DAY_MS)
  const rolled = await rollKey(h.service, { key, graceMs: 20 * DAY_MS })
  // No grace period is longer than the credential would have worked.
  assert.deepEqual([rolled.endsAt, rolled.expiresAt], [expiresAt, h.clock.now() + 90 * DAY_MS])
  await assert.rejects(rollKey(h.service, { key, graceMs: 0 }), /already being rolled/)
  const successor = { ...keys, server: rolled.secret.reveal() }
  const statuses = async () => [
    (await h.get(session, keys)).status === 401,
    (await h.get(session, successor)).status === 401,
  ]
  h.clock.advance(10 * DAY_MS - 1)
  assert.deepEqual(await statuses(), [false, false])
  h.clock.advance(1)
  assert.deepEqual(await statuses(), [true, false])
  h.clock.advance(80 * DAY_MS)
  assert.deepEqual(await statuses(), [true, true])
  await assert.rejects(rollKey(h.service, { key: rolled.key, graceMs: 0 }), /already revoked/)
})

test('an undone roll leaves the old credential as it was, unless it was revoked meanwhile', async () => {
  await using h = await harness()
  const { key, keys } = await issue(h, 90 * DAY_MS)
  const session = await h.create({}, keys)
  const before = await listed(h, key)
  const rolled = await rollKey(h.service, { key, graceMs: 0 })
  assert.equal((await h.get(session, keys)).status, 401)
  await undoRoll(h.service, { replaces: key, ...rolled })
  assert.deepEqual({ ...(await listed(h, key)), lastUsedAt: null }, { ...before, lastUsedAt: null })
  assert.equal((await h.get(session, keys)).status, 200)
  const successor = { ...keys, server: rolled.secret.reveal() }
  assert.equal((await h.get(session, successor)).status, 401)

  const again = await rollKey(h.service, { key, graceMs: DAY_MS })
  await revokeKey(h.service, key)
  await undoRoll(h.service, { replaces: key, ...again })
  assert.equal((await h.get(session, keys)).status, 401)
})

test('a revocation ends a credential before its expiry, and is listed as one', async () => {
  await using h = await harness()
  const { key, keys } = await issue(h, 90 * DAY_MS)
  await revokeKey(h.service, key)
  assert.equal((await h.api('GET', '/webhook-endpoints', { token: keys.server })).status, 401)
  const found = await listed(h, key)
  assert.deepEqual([found?.expiresAt, found?.revokedAt], [null, h.clock.now()])
})

test('the last use of a credential is stored once a minute, and a failed write loses none', async (t) => {
  await using h = await harness()
  const { key, keys } = await issue(h)
  const lastUse = async () => (await listed(h, key))?.lastUsedAt
  const used = async () => {
    await h.create({}, keys)
    return h.clock.now()
  }
  const first = await used()
  assert.equal(await lastUse(), null, 'a call writes nothing')
  await watchCredentials(h.service)
  assert.equal(await lastUse(), first)
  h.clock.advance(1_000)
  const at = await used()
  const write = t.mock.method(h.service.store, 'write', () => Promise.reject(new Error('no disk')))
  await assert.rejects(watchCredentials(h.service), /no disk/)
  write.mock.restore()
  await watchCredentials(h.service)
  assert.equal(await lastUse(), at)
  const writes = t.mock.method(h.service.store, 'write')
  await watchCredentials(h.service)
  assert.equal(writes.mock.callCount(), 0, 'without a use, nothing is written')
})

test('a credential that is not accepted counts as no use', async () => {
  await using h = await harness()
  const { key, keys } = await issue(h)
  const wrong = { token: `${keys.server.slice(0, -1)}${keys.server.endsWith('0') ? '1' : '0'}` }
  assert.equal((await h.api('GET', '/webhook-endpoints', wrong)).status, 401)
  await watchCredentials(h.service)
  assert.equal((await listed(h, key))?.lastUsedAt, null)
})

test('the service warns 14 days before an expiry, once a day, and not of a rolled credential', async () => {
  await using h = await harness()
  const lines: { msg: string; key_id?: string }[] = []
  const measured: number[] = []
  const log = pino({ level: 'warn' }, { write: (line) => lines.push(JSON.parse(line)) })
  const meter = { ...noMeter, measuredCredentials: (count: number) => measured.push(count) }
  const stop = startMaintenance({ ...h.service, meter }, { log, guard: new ClockGuard(h.clock) })
  const first = await issue(h, 30 * DAY_MS)
  await issue(h)
  const afterRounds = async (ms: number) => {
    h.clock.advance(ms)
    for (let rounds = 0; rounds < 3; rounds++) {
      h.clock.advance(MINUTE_MS)
      // On PostgreSQL the round takes several messages of the server.
      for (let turns = 0; turns < 20; turns++) {
        await new Promise((resolve) => setImmediate(resolve))
        await h.service.store.read((tables) => tables.tenants.list())
      }
    }
    const warned = lines.filter(({ msg }) => msg === 'a server credential expires soon')
    return [measured.at(-1), warned.map(({ key_id }) => key_id).length]
  }
  assert.deepEqual(await afterRounds(0), [0, 0])
  assert.deepEqual(await afterRounds(16 * DAY_MS - 10 * MINUTE_MS), [0, 0])
  assert.deepEqual(await afterRounds(10 * MINUTE_MS), [1, 1])
  assert.deepEqual(await afterRounds(MINUTE_MS), [1, 1])
  assert.deepEqual(await afterRounds(DAY_MS), [1, 2])
  await rollKey(h.service, { key: first.key, graceMs: DAY_MS })
  assert.deepEqual(await afterRounds(DAY_MS), [0, 2])

  // Expired ones are reported until they are revoked, and seven days at most.
  const [second] = [await issue(h, DAY_MS), await issue(h, DAY_MS)]
  assert.deepEqual(await afterRounds(0), [2, 4])
  const expired = () => lines.filter(({ msg }) => msg === 'a server credential has expired').length
  assert.deepEqual(await afterRounds(DAY_MS), [2, 4])
  assert.equal(expired(), 2)
  await revokeKey(h.service, second.key)
  await assert.rejects(revokeKey(h.service, second.key), /already revoked/)
  assert.deepEqual(await afterRounds(5 * DAY_MS), [1, 4])
  assert.deepEqual(await afterRounds(2 * DAY_MS), [0, 4])
  stop()
})
