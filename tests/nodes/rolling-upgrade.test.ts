import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { startCluster } from '../harness/cluster.ts'
import { NEXT_STEPS } from '../../packages/store/tests/migrations/next-steps.ts'
import { startPostgres } from '../../packages/store/tests/servers/postgres.ts'
import { machine } from '../harness/process.ts'
import { type Balancer, balance } from './balancer.ts'
import { NEXT_VERSION } from './next-version.ts'
import { PHONES, startClients, stop } from './rolling-clients.ts'

const NODES = 3
/** Sessions that are created before the upgrade, and end after it. */
const WAITING = 12
const ROLE = 'bonded_node'
const OWNER = 'bonded_owner'
/** Of the nodes, and of the commands of the next version. */
const KEYS = { BONDED_ROOT_KEYS: `k1:${randomBytes(32).toString('base64url')}` }

test('an upgrade of three nodes over a migration fails no call under load, and loses no session', {
  timeout: 600_000,
}, async (t) => {
  await using server = await startPostgres()
  const url = new URL(await server.newDatabase())
  const database = url.pathname.slice(1)
  await server.run(
    `create role ${OWNER} login; create role ${ROLE} login;
     alter database ${database} owner to ${OWNER}; revoke all on database ${database} from public;
     grant connect on database ${database} to ${ROLE}`,
  )
  const urlOf = (role: string) => Object.assign(new URL(url), { username: role }).href
  await using cluster = await startCluster({
    store: 'postgres',
    nodes: NODES,
    databaseUrl: urlOf(OWNER),
    envOfAll: { BONDED_DRAIN_SECONDS: '2', ...KEYS },
  })
  using operator = machine({
    env: { BONDED_DATABASE_URL: urlOf(OWNER), ...KEYS, ...NEXT_VERSION },
  })
  const states = (await operator.jsonMeanwhile('migrate', 'status')) as Status[]
  const pending = states.filter(({ applied_at }) => applied_at === null)
  assert.deepEqual(
    pending.map(({ number }) => number),
    NEXT_STEPS.map(({ number }) => number),
  )

  await using balancer = balance(cluster.nodes)
  // Also after a failure, the clients end before the nodes.
  await using ending = new AsyncDisposableStack()
  const stopped = new AbortController()
  ending.defer(() => stopped.abort())
  const { calls, failed, fetch } = countCalls(balancer.fetch)
  const { origin } = balancer
  const clients = await startClients(cluster, { fetch, origin, signal: stopped.signal })
  const completed: string[] = []
  for (let count = 0; count < PHONES; count++) completed.push(await clients.runLifecycle())
  const waiting = await Promise.all(Array.from({ length: WAITING }, () => clients.watchNew()))

  const suspend = async () => {
    const [{ tenant_id }] = await operator.jsonMeanwhile('tenant', 'list')
    await operator.jsonMeanwhile('tenant', 'suspend', tenant_id)
  }
  const upgraded = new AbortController()
  const upgrade = async () => {
    const old = [...cluster.nodes]
    const nextNode = () => cluster.addNode({ BONDED_DATABASE_URL: urlOf(ROLE), ...NEXT_VERSION })
    // A node of the next version waits for the migration, while the old ones serve.
    const first = nextNode()
    const { applied } = await operator.jsonMeanwhile('migrate', 'up', '--runtime-role', ROLE)
    assert.equal(applied.length, NEXT_STEPS.length)
    await assert.rejects(suspend(), /A node of an older version serves/)
    for (const [at, node] of old.entries()) {
      await (at === 0 ? first : nextNode())
      const scans = waiting.filter((_, index) => index % NODES === at).map(({ scan }) => scan())
      const [{ code }] = await Promise.all([stop(node), ...scans])
      assert.equal(code, 0)
    }
  }
  const work = async () => {
    while (!upgraded.signal.aborted) completed.push(await clients.runLifecycle())
  }
  await Promise.all([
    upgrade().finally(() => upgraded.abort()),
    ...Array.from({ length: PHONES }, work),
  ])

  for (const { channel, decline } of waiting) {
    await decline()
    await channel.ended
    assert.deepEqual(channel.events, ['2 scanned', '3 killed'])
  }
  for (const id of completed) assert.equal(await clients.stateOf(id), 'completed', id)
  t.diagnostic(`${calls()} calls, ${completed.length} sessions completed`)
  assert.deepEqual(failed, [])
  // The last messages of the old nodes are 10 seconds old.
  await server.run(`update node_message set sent_at = sent_at - interval '11 seconds'`, url.href)
  await suspend()
})

/** Records each call that fails, although a client would repeat it. */
function countCalls(send: Balancer['fetch']) {
  const failed: string[] = []
  let calls = 0
  const fetch: Balancer['fetch'] = async (url, init) => {
    calls += 1
    const call = `${init?.method ?? 'GET'} ${new URL(url).pathname}`
    try {
      const response = await send(url, init)
      if (response.status >= 400) failed.push(`${call}: ${await response.clone().text()}`)
      return response
    } catch (failure) {
      if (init?.signal?.aborted !== true) failed.push(`${call}: ${String(failure)}`)
      throw failure
    }
  }
  return { fetch, failed, calls: () => calls }
}

interface Status {
  readonly number: number
  readonly applied_at: string | null
}
