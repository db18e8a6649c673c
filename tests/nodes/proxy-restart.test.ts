import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCluster } from '../harness/cluster.ts'
import { skipWithoutNginx, startNginx } from '../deploy/nginx.ts'
import { openBackend } from '../harness/steady-backend.ts'
import { addTenant } from './load.ts'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'

const NODES = 3
const CALLERS = 4
const MIN_CALLS = 2_000

test('a rolling restart behind the shipped nginx fails no call of a client that never retries', {
  skip: skipWithoutNginx,
  timeout: 600_000,
}, async (t) => {
  await using cluster = await startCluster({
    store: 'postgres',
    nodes: 0,
    envOfAll: { BONDED_DRAIN_SECONDS: '2', BONDED_TRUST_PROXY: '1' },
  })
  const ports = await Promise.all(Array.from({ length: NODES }, freePort))
  // A node keeps its address, as the list of nodes in the configuration needs it.
  for (const port of ports) await cluster.addNode({ BONDED_PORT: String(port) })
  await using proxy = await startNginx(ports)
  const { server } = await addTenant(cluster)
  using backend = openBackend(proxy.port, server)

  const restarted = new AbortController()
  const roll = async () => {
    do
      for (const node of cluster.nodes) {
        assert.equal(await node.process.stop('SIGTERM'), 0)
        await node.restart()
      }
    while (backend.counts().calls < MIN_CALLS)
  }
  const work = async () => {
    while (!restarted.signal.aborted) await backend.runSession()
  }
  await Promise.all([
    roll().finally(() => restarted.abort()),
    ...Array.from({ length: CALLERS }, work),
  ])
  const { calls, failed } = backend.counts()
  t.diagnostic(`${calls} calls`)
  for (const line of proxy.logs().split('\n')) if (/ 502 /.test(line)) t.diagnostic(line)
  assert.ok(calls >= MIN_CALLS)
  assert.deepEqual(failed, [])
})
