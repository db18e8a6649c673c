import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { CreatedSession } from '@bonded/contract'
import { openChannel } from '../harness/channel.ts'
import { startCluster } from '../harness/cluster.ts'
import { openConnection } from '../../packages/store/tests/servers/postgres.ts'
import { until } from '../harness/process.ts'
import { type Exchange, exchangeWith, type Reply } from '../pressure/exchange.ts'
import { registerPhone, type Shop, SHOP_ORIGIN } from '../pressure/running.ts'
import { addTenant } from './load.ts'

const KEYS = 10
const WITHIN_MS = 60_000
const RETRY_MS = 50

const cluster = await startCluster({ nodes: 2, store: 'postgres' })
const [a, b] = cluster.nodes
assert.ok(a && b)
const [atA, atB] = [a, b].map((node) => exchangeWith(() => Number(new URL(node.origin).port)))
assert.ok(atA && atB)
after(async () => {
  for (const exchange of [atA, atB]) exchange[Symbol.dispose]()
  await cluster[Symbol.asyncDispose]()
})
const [shop, bank] = [await addTenant(cluster), await addTenant(cluster)]
const portOf = ({ origin }: { origin: string }) => Number(new URL(origin).port)
const sql = async (text: string) => (await cluster.server?.run(text, cluster.databaseUrl)) ?? []
const storedSessions = async () => Number((await sql('select count(*) as n from session'))[0]?.n)

/** The digest in the context names the tenant and the body, so a response shows whose it is. */
const digestOf = (tenant: Shop, body: string) =>
  `${tenant === shop ? 'shop' : 'bank'}${body}`.padEnd(43, '0')
/** Repeats an outage as a client does. */
async function create(
  exchange: Exchange,
  by: { readonly tenant: Shop; readonly key: string; readonly body: string },
): Promise<Reply> {
  for (;;) {
    const reply = await exchange('POST', '/sessions', {
      token: by.tenant.server,
      headers: { 'idempotency-key': by.key },
      body: { workflow: 'w', context: { display: [], digest: digestOf(by.tenant, by.body) } },
    })
    if (reply.status !== 503) return reply
    await wait(RETRY_MS)
  }
}

/** Checks a response, and returns the id of the session if this body created it. */
function idOf({ status, text, body }: Reply, tenant: Shop, sent: string): string | undefined {
  const foreign = [shop, bank]
    .flatMap((each) => ['X', 'Y'].map((letter) => digestOf(each, letter)))
    .filter((digest) => digest !== digestOf(tenant, sent))
  for (const digest of foreign) assert.doesNotMatch(text, new RegExp(digest))
  if (status === 201) return String(body.id)
  assert.deepEqual([status, body.error.reason], [400, 'idempotency_mismatch'], text)
  return undefined
}

/** Sends both bodies of a key to both nodes. Exactly one body wins, with the same session. */
async function settle(tenant: Shop, key: string): Promise<{ id: string; body: string }> {
  const calls = ['X', 'Y'].flatMap((body) =>
    [atA, atB].map(async (exchange) => {
      const id = idOf(await create(exchange as Exchange, { tenant, key, body }), tenant, body)
      return id === undefined ? [] : [{ id, body }]
    }),
  )
  const [winner, again, ...others] = (await Promise.all(calls)).flat()
  assert.ok(winner)
  assert.deepEqual([again, others], [winner, []])
  return winner
}

test('one Idempotency-Key with two bodies on two nodes creates one session for each tenant', async () => {
  const before = await storedSessions()
  const ids = new Set<string>()
  const storm = async (key: string) => {
    const [one, other] = await Promise.all([settle(shop, key), settle(bank, key)])
    ids.add(one.id).add(other.id)
    assert.deepEqual([await settle(shop, key), await settle(bank, key)], [one, other])
  }
  await Promise.all(Array.from({ length: KEYS }, (_, index) => storm(`key-${index}`)))
  assert.equal(ids.size, 2 * KEYS)
  assert.equal((await storedSessions()) - before, 2 * KEYS)
})

test('a node that is killed while it creates a session leaves its Idempotency-Key to one body', async () => {
  const before = await storedSessions()
  await using holder = await openConnection(cluster.databaseUrl)
  const waiting = (count: number) =>
    until(async () => {
      const [found] = await sql('select count(*) as n from pg_locks where not granted')
      return Number(found?.n) >= count ? true : undefined
    }, WITHIN_MS)
  await holder.run('begin; lock table session in share mode')
  const lost = create(atA, { tenant: shop, key: 'killed', body: 'X' }).catch(() => undefined)
  await waiting(1)
  // Another tenant's key of the same name does not wait for this one, only for the table.
  const other = create(atB, { tenant: bank, key: 'killed', body: 'Y' })
  const second = create(atB, { tenant: shop, key: 'killed', body: 'Y' })
  await waiting(2)
  await a.kill()
  await lost
  await holder.run('commit')
  const [mine, theirs] = [await second, await other]
  await a.restart()
  for (const [reply, tenant] of [
    [mine, shop],
    [theirs, bank],
  ] as const) {
    const winner = await settle(tenant, 'killed')
    assert.equal(idOf(reply, tenant, 'Y'), winner.body === 'Y' ? winner.id : undefined)
  }
  assert.equal((await storedSessions()) - before, 2)
})

test('two tenants never see each other, whichever node has cached their rows', async () => {
  const newSession = async (tenant: Shop): Promise<CreatedSession> =>
    (await atA('POST', '/sessions', { token: tenant.server, body: { workflow: 'w' } })).body
  const own = await newSession(shop)
  const [sibling, foreign] = [await newSession(shop), await newSession(bank)]
  const get = (exchange: Exchange, tenant: Shop, query = '') =>
    exchange('GET', `/sessions/${own.id}${query}`, { token: tenant.server })

  for (const exchange of [atA, atB]) {
    assert.equal((await get(exchange, shop)).status, 200)
    const page = { origin: SHOP_ORIGIN, 'x-bond-watch': own.watch_token ?? '' }
    const secret = { 'x-bond-completion-secret': own.completion_secret ?? '' }
    const rejected = [
      get(exchange, bank),
      get(exchange, bank, '?wait_ms=25000&after=0'),
      ...(
        [
          ['GET', '/timeline', bank.server, {}],
          ['POST', '/form-completed', bank.server, secret],
          ['DELETE', '', bank.server, {}],
          ['GET', '', bank.publishable, page],
          ['POST', '/cancel', bank.publishable, page],
          ['GET', '', shop.publishable, { ...page, 'x-bond-watch': sibling.watch_token ?? '' }],
          ['GET', '', shop.publishable, { ...page, 'x-bond-watch': foreign.watch_token ?? '' }],
        ] as const
      ).map(([method, path, token, headers]) =>
        exchange(method, `/sessions/${own.id}${path}`, { token, headers }),
      ),
    ]
    for (const { status, text } of await Promise.all(rejected)) {
      assert.equal(status, 404, text)
      assert.match(text, /session_not_found/)
    }
  }
  for (const node of [a, b])
    for (const [key, watch_token] of [
      [bank.publishable, own.watch_token],
      [shop.publishable, sibling.watch_token],
      [shop.publishable, foreign.watch_token],
    ] as const) {
      const { rejected } = openChannel(portOf(node), { id: own.id, watch_token }, { key })
      assert.deepEqual((await rejected).status, 404)
    }
  assert.equal((await get(atB, shop)).body.state, 'pending')
})

test('the database contains no credential and no secret of a session or a phone', async () => {
  const newSession = async () =>
    (await atA('POST', '/sessions', { token: shop.server, body: { workflow: 'w' } })).body
  const [session, claimed] = [await newSession(), await newSession()]
  const { device_id, device_token } = await registerPhone(atB)
  const claim = await atB('POST', `/sessions/${claimed.id}/claim`, {
    token: device_token,
    body: { nonce: claimed.nonce, device_id },
  })
  assert.equal(claim.status, 200, claim.text)
  const secrets = [
    shop.server,
    bank.server,
    device_token,
    session.nonce,
    ...[session, claimed].flatMap((each) => [each.watch_token, each.completion_secret]),
  ]
  const tables = await sql("select tablename from pg_tables where schemaname = 'public'")
  const rows = await Promise.all(
    tables.map(({ tablename }) =>
      sql(`select row_to_json(t)::text as row from ${String(tablename)} t`),
    ),
  )
  const stored = rows
    .flat()
    .map(({ row }) => String(row))
    .join()
  assert.ok(stored.includes(session.id) && stored.includes(device_id))
  for (const secret of secrets) {
    // Without its prefix and its id, which are public, and also in the spelling of bytes.
    const part = String(secret).slice(-20)
    assert.ok(!stored.includes(part), String(secret))
    assert.ok(!stored.includes(Buffer.from(part).toString('hex')), String(secret))
    assert.ok(!stored.includes(Buffer.from(part, 'base64url').toString('hex').slice(0, -2)))
  }
})

test('a channel begins with its own session for every position that a client names', async () => {
  const { body: session } = await atA('POST', '/sessions', {
    token: shop.server,
    body: { workflow: 'w' },
  })
  const watch = `watch.${session.watch_token}`
  const positions = ['0', '1', '999999999', '-1', 'NaN', '1e9', '0x1', '9'.repeat(30), '']
  for (const position of positions) {
    const protocols = ['bonded.v1', watch, ...(position === '' ? [] : [`after.${position}`])]
    const channel = openChannel(portOf(b), session, { protocols })
    const first = await channel.next()
    assert.equal(first.session_id, session.id)
    assert.equal(first.seq, session.seq, position)
    channel.socket.terminate()
    const path = `/sessions/${session.id}?wait_ms=1&after=${position}`
    const polled: Reply = await atB('GET', path, { token: shop.server })
    assert.ok(polled.status === 400 || polled.body.id === session.id, polled.text)
  }
})

test('a change on one node reaches only the channels of its own session on another', async () => {
  const tenants = [shop, shop, bank]
  const opened = await Promise.all(
    tenants.map(async (tenant) => {
      const { body: session } = await atA('POST', '/sessions', {
        token: tenant.server,
        body: { workflow: 'w' },
      })
      const channel = openChannel(portOf(b), session, { key: tenant.publishable })
      assert.equal((await channel.next()).session_id, session.id)
      return { tenant, session, channel }
    }),
  )
  // One after another: a frame that belongs to another session arrives before a channel's own.
  for (const { tenant, session, channel } of opened) {
    const path = `/sessions/${session.id}`
    assert.equal((await atA('DELETE', path, { token: tenant.server })).status, 204)
    const { session_id, seq, state } = await channel.next()
    assert.deepEqual([session_id, seq, state], [session.id, session.seq + 1, 'killed'])
    assert.equal(await channel.closed, 1000)
  }
})

test('a revoked credential reads nothing on any node, also by its Idempotency-Key', async () => {
  const created = await create(atA, { tenant: shop, key: 'revoked', body: 'X' })
  const read = (exchange: Exchange) =>
    exchange('GET', `/sessions/${created.body.id}`, { token: shop.server })
  assert.deepEqual([(await read(atA)).status, (await read(atB)).status], [200, 200])
  await cluster.operator.jsonMeanwhile('key', 'revoke', shop.server)
  for (const exchange of [atA, atB])
    for (const reply of [
      await read(exchange),
      await create(exchange, { tenant: shop, key: 'revoked', body: 'X' }),
    ])
      assert.deepEqual([reply.status, reply.body.error.reason], [401, 'credential_invalid'])
  assert.equal((await create(atB, { tenant: bank, key: 'revoked', body: 'X' })).status, 201)
})
