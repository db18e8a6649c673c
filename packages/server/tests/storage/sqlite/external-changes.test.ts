import assert from 'node:assert/strict'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { after, mock, test } from 'node:test'
import { isRevoked } from '../../../../core/src/domain/tenant.ts'
import { harness, SHOP_ORIGIN } from '../../../../../tests/harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())
const { store, clock } = h.service

test('accepts valid keys and rejects revoked ones after another process adds columns', async () => {
  const session = await h.create()
  const keys = await h.addKeys(h.shop.tenant, [{ workflow: 'credit_application', actions: null }])
  const asBrowser = () =>
    h.api('GET', `/sessions/${session.id}`, {
      token: keys.publishable,
      headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
    })
  assert.deepEqual([(await h.get(session, keys)).status, (await asBrowser()).status], [200, 200])

  using another = new DatabaseSync(h.databaseFile)
  for (const table of ['tenant', 'session', 'device', 'publishable_key'])
    another.exec(`alter table ${table} add column note text`)
  await store.externalChanges()
  assert.deepEqual([(await h.get(session, keys)).status, (await asBrowser()).status], [200, 200])
  assert.equal(
    (
      await h.api('POST', '/sessions', {
        token: keys.server,
        body: { workflow: 'wire_transfer', action: 'approve_wire' },
      })
    ).status,
    403,
  )

  another
    .prepare('update publishable_key set revoked_at = ? where publishable_key = ?')
    .run(clock.now(), keys.publishable)
  await store.externalChanges()
  assert.deepEqual([(await h.get(session, keys)).status, (await asBrowser()).status], [200, 401])
})

test('treats a key with an unreadable revocation time as revoked', () => {
  assert.equal(isRevoked({ revokedAt: Number.NaN }, 0), true)
  assert.equal(isRevoked({ revokedAt: null }, 0), false)
})

test('returns only readable changes when another process writes during the check', async (t) => {
  const session = await h.create()
  assert.equal((await h.get(session)).body.state, 'pending')
  await store.externalChanges()
  await h.get(session)
  using another = new DatabaseSync(h.databaseFile)
  const kill = () => {
    another.exec(
      `update session set state = 'killed', seq = 2, ended_at = ${clock.now()}, ended_reason = 'killed_by_operator' where id = '${session.id}'`,
    )
    another.exec(`insert into session_event (session_key, seq, at, kind, state)
      select session_key, 2, ${clock.now()}, 'killed', 'killed' from session where id = '${session.id}'`)
  }
  const get = Reflect.get(StatementSync.prototype, 'get') as (...values: unknown[]) => unknown
  let reads = 0
  const spy = mock.method(
    StatementSync.prototype,
    'get',
    function (this: StatementSync, ...values: unknown[]) {
      const result = Reflect.apply(get, this, values)
      if (reads++ === 0) kill()
      return result
    },
  )
  t.after(() => spy.mock.restore())
  for (let checks = 1; ; checks++) {
    const { length: found } = await store.externalChanges()
    if (found > 0) break
    assert.ok(checks < 20, 'the change is not found')
  }
  assert.equal((await h.get(session)).body.state, 'killed')
})

test('never matches an Origin as a key or a key as an Origin', async () => {
  const keyId = h.shop.server.slice(8, 18)
  const ask = <T>(unit: Parameters<typeof store.read<T>>[0]) => store.read(unit)
  assert.ok(await ask((tables) => tables.tenants.findServerCredential(keyId)))
  assert.ok(await ask((tables) => tables.tenants.findPublishableKey(h.shop.publishable)))
  assert.ok(await ask((tables) => tables.tenants.find(h.shop.tenant.id)))
  assert.ok(await ask((tables) => tables.tenants.knowsOrigin(SHOP_ORIGIN)))
  for (const name of [keyId, h.shop.publishable, h.shop.tenant.id]) {
    assert.equal(await ask((tables) => tables.tenants.knowsOrigin(name)), false)
    const preflight = await h.call('OPTIONS', '/api/v1/sessions', {
      headers: { origin: name, 'access-control-request-method': 'POST' },
    })
    assert.equal(preflight.headers['access-control-allow-origin'], undefined)
  }
  for (const name of [SHOP_ORIGIN, h.shop.publishable]) {
    assert.equal(await ask((tables) => tables.tenants.findServerCredential(name)), undefined)
    assert.equal(await ask((tables) => tables.tenants.find(name as never)), undefined)
  }
})

test('reads rows correctly after another process reorders the columns', async () => {
  await using own = await harness()
  const session = await own.create()
  using another = new DatabaseSync(own.databaseFile)
  // Clear the cache, so that both reads use the database.
  another.exec('update session set hint = null')
  await own.service.store.externalChanges()
  assert.equal((await own.get(session)).status, 200)
  const [{ sql = '' } = {}] = another
    .prepare(`select sql from sqlite_schema where name = 'session'`)
    .all() as { sql?: string }[]
  const columns = another.prepare('select name from pragma_table_info(?)').all('session') as {
    name: string
  }[]
  const names = columns.map(({ name }) => name).join(', ')
  another.exec(`create table moved (first_of_all text, ${sql.slice(sql.indexOf('(') + 1)}`)
  another.exec(
    `insert into moved (${names}) select ${names} from session; drop table session; alter table moved rename to session`,
  )
  await own.service.store.externalChanges()
  const { id, state, nonce } = (await own.get(session)).body
  assert.deepEqual([id, state, nonce], [session.id, 'pending', session.nonce])
})
