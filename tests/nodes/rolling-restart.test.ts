import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CLOSE } from '@bonded/contract'
import { startCluster } from '../harness/cluster.ts'
import { balance } from './balancer.ts'
import { PHONES, startClients, stop } from './rolling-clients.ts'

const NODES = 3
const DRAIN_SECONDS = '2'
/** The time that docs/decisions/0055-drain.md promises. */
const ENDS_WITHIN_MS = 25_000
/** Channels of sessions that wait for a phone during the whole restart. */
const WAITING = 24
test('a rolling restart of three nodes under load fails no request, and every channel sees each event once and in order', {
  timeout: 600_000,
}, async (t) => {
  await using cluster = await startCluster({
    store: 'postgres',
    nodes: NODES,
    envOfAll: { BONDED_DRAIN_SECONDS: DRAIN_SECONDS },
  })
  await using balancer = balance(cluster.nodes)
  // Also after a failure, the clients end before the nodes.
  await using ending = new AsyncDisposableStack()
  const stopped = new AbortController()
  ending.defer(() => stopped.abort())
  const clients = await startClients(cluster, { ...balancer, signal: stopped.signal })
  const waiting = await Promise.all(Array.from({ length: WAITING }, () => clients.watchNew()))

  const restarted = new AbortController()
  const roll = async () => {
    for (const [at, node] of [...cluster.nodes].entries()) {
      const replacement = cluster.addNode()
      const scans = waiting.filter((_, index) => index % NODES === at).map(({ scan }) => scan())
      const [{ code, ms }] = await Promise.all([stop(node), replacement, ...scans])
      t.diagnostic(`node ${at + 1} ended after ${Math.round(ms)} ms`)
      assert.equal(code, 0)
      assert.ok(ms < ENDS_WITHIN_MS, `${ms} ms`)
    }
  }
  const runUntilRestarted = async () => {
    let made = 0
    for (; !restarted.signal.aborted; made++) await clients.runLifecycle()
    return made
  }
  const [, ...made] = await Promise.all([
    roll().finally(() => restarted.abort()),
    ...Array.from({ length: PHONES }, runUntilRestarted),
  ])
  t.diagnostic(`${made.join(' + ')} lifecycles`)

  for (const { channel, decline } of waiting) {
    await decline()
    await channel.ended
    assert.deepEqual(channel.events, ['2 scanned', '3 killed'])
    assert.equal(channel.hellos, 1, 'each reconnect resumed')
    assert.ok(channel.closes.includes(CLOSE.restarting), channel.closes.join())
    assert.equal(channel.closes.at(-1), CLOSE.ended)
  }
})
