import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { startCluster } from '../harness/cluster.ts'
import { until } from '../harness/process.ts'
import { startReplicated } from '../harness/standby.ts'
import { checkDatabase, explain } from '../pressure/history-check.ts'
import type { RecordedSession } from '../pressure/recorder.ts'
import { addTenant, retried, runLoad } from './load.ts'

const NODES = 3
const SESSIONS_AT_ONCE = 12
/** Sessions that end before the failover, and as many that end after it. */
const SESSIONS_EACH = 20
const WITHIN_MS = 60_000
const POLL_MS = 50

test('nodes follow a failover under load: calls get 503 with Retry-After, nothing acknowledged is lost', {
  timeout: 240_000,
}, async (t) => {
  await using servers = await startReplicated()
  const { primary, standby } = servers
  await using cluster = await startCluster({
    store: 'postgres',
    nodes: NODES,
    databaseUrl: await servers.newDatabase(),
  })
  const shop = await addTenant(cluster)
  const ended: RecordedSession[] = []
  let isEnough = false
  const load = runLoad({
    nodes: cluster.nodes,
    shop,
    inProgress: SESSIONS_AT_ONCE,
    goOn: () => !isEnough && !t.signal.aborted,
    ended: (session) => ended.push(session),
  })
  const untilEnded = (sessions: number) =>
    until(async () => {
      await wait(POLL_MS)
      return ended.length >= sessions || undefined
    }, WITHIN_MS)
  const failOver = async () => {
    await untilEnded(SESSIONS_EACH)
    const before = ended.length
    await primary.stop('kill')
    const rejected = await Promise.all(
      cluster.nodes.map(({ origin }) => untilRejected(origin, shop)),
    )
    assert.deepEqual(rejected, Array(NODES).fill('store_unavailable'))
    await standby.run('select pg_promote()')
    for (const { origin } of cluster.nodes) await until(() => isReady(origin), WITHIN_MS)
    await untilEnded(ended.length + SESSIONS_EACH)
    return before
  }
  const [{ sessions, calls, lost }, before] = await Promise.all([
    load,
    failOver().finally(() => (isEnough = true)),
  ])
  t.diagnostic(`${sessions} sessions, ${before} before; ${calls} calls, ${lost} lost answers`)
  assert.ok(lost > 0, 'the failover reached the clients')
  // A change that was acknowledged and is lost contradicts the state that is read now.
  for (const session of ended) {
    await retried(() => session.read('backend'))
    explain(session.session.id, session.history)
  }
  await checkDatabase(servers.urlOn(standby, cluster.databaseUrl))
})

/** Creates sessions until a node rejects one. @returns the reason, once the node is not ready */
async function untilRejected(origin: string, { server }: { server: string }): Promise<string> {
  const rejected = await until(async () => {
    const response = await fetch(`${origin}/api/v1/sessions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server}`, 'content-type': 'application/json' },
      body: '{}',
      signal: AbortSignal.timeout(WITHIN_MS),
    })
    const { error } = (await response.json()) as { error?: { reason: string } }
    if (response.status === 201) return undefined
    assert.equal(response.status, 503)
    assert.match(response.headers.get('retry-after') ?? '', /^\d+$/)
    return error?.reason
  }, WITHIN_MS)
  assert.equal(await isReady(origin), undefined)
  return rejected
}

async function isReady(origin: string): Promise<true | undefined> {
  const { status } = await fetch(`${origin}/health/ready`, {
    signal: AbortSignal.timeout(WITHIN_MS),
  })
  return status === 200 ? true : undefined
}
