import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CLOSE } from '@bonded/contract'
import { createGate, type GateClock, memoryPendingStore, systemClock } from '@bonded/integrator'
import { createSimulatedPhone } from '@bonded/simulator'
import {
  type Cluster,
  type ClusterNode,
  startCluster,
} from '../../packages/service/tests/harness/cluster.ts'
import { type Balancer, balance, ORIGIN } from './balancer.ts'
import { addTenant } from './load.ts'
import { openReturning } from './returning-channel.ts'

const NODES = 3
const DRAIN_SECONDS = '2'
/** As docs/decisions/0055-drain.md promises. */
const ENDS_WITHIN_MS = 25_000
/** Channels of sessions that wait for a phone during the whole restart. */
const WAITING = 24
const LIFECYCLES_AT_ONCE = 3
const PURPOSE = { workflow: 'w', action: 'a', owner: 'user', acceptAnyContext: true } as const
/** The clients give up ten times later than by default, because a test machine may be slow. */
const SLOW_CLOCK: GateClock = {
  ...systemClock,
  now: () => Date.now() / 10,
  timeout: (ms) => systemClock.timeout(10 * ms),
}

test('a rolling restart of three nodes under load fails no request, and every channel sees each event once and in order', {
  timeout: 300_000,
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
  const clients = await startClients(cluster, { balancer, signal: stopped.signal })
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
    ...Array.from({ length: LIFECYCLES_AT_ONCE }, runUntilRestarted),
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

async function stop(node: ClusterNode): Promise<{ code: number | null; ms: number }> {
  const began = performance.now()
  const code = await node.process.stop('SIGTERM')
  return { code, ms: performance.now() - began }
}

/** A tenant's backend, pages that hold a channel, and phones, which use the real libraries. */
async function startClients(
  cluster: Cluster,
  { balancer, signal }: { readonly balancer: Balancer; readonly signal: AbortSignal },
) {
  const { fetch, origin } = balancer
  const { server } = await addTenant(cluster)
  const gate = createGate({
    baseUrl: `${ORIGIN}/api/v1`,
    serverCredential: server,
    store: memoryPendingStore(),
    clock: SLOW_CLOCK,
    fetch,
  })
  const newPhone = () =>
    createSimulatedPhone({
      origin: ORIGIN,
      fetch: (url, { signal: _own, ...request }) => fetch(url, request),
    })
  const phones = Array.from({ length: LIFECYCLES_AT_ONCE }, newPhone)
  const watchNew = async () => {
    const { session } = await gate.create(PURPOSE)
    const channel = openReturning(session, { origin, signal })
    await channel.opened
    const phone = phones[0] ?? newPhone()
    let scanned: Awaited<ReturnType<typeof phone.scan>> | undefined
    return {
      session,
      channel,
      scan: async () => {
        scanned = await phone.scan(session.qr_payload)
      },
      decline: async () => {
        await scanned?.decline('user_declined')
      },
    }
  }
  let lifecycles = 0
  return {
    watchNew,
    async runLifecycle() {
      const phone = phones[lifecycles++ % phones.length] ?? newPhone()
      const { session } = await gate.create(PURPOSE)
      const channel = openReturning(session, { origin, signal })
      await channel.opened
      const { state } = await phone.run(session.qr_payload, 'approve')
      assert.equal(state, 'bonded')
      const { outcome } = await gate.protect({
        ...PURPOSE,
        session_id: session.id,
        accept: async () => undefined,
      })
      assert.equal(outcome, 'completed')
      await channel.ended
      assert.deepEqual(channel.events, ['2 scanned', '3 evaluating', '4 bonded', '5 completed'])
    },
  }
}
