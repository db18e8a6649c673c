import assert from 'node:assert/strict'
import { createGate, type GateClock, memoryPendingStore, systemClock } from '@bonded/integrator'
import { createSimulatedPhone } from '@bonded/simulator'
import type { Cluster, ClusterNode } from '../harness/cluster.ts'
import { type Balancer, ORIGIN } from './balancer.ts'
import { addTenant } from './load.ts'
import { openReturning } from './returning-channel.ts'

/** Each of them runs one lifecycle at a time. */
export const PHONES = 3
const PURPOSE = { workflow: 'w', action: 'a', owner: 'user', acceptAnyContext: true } as const
/** The clients give up ten times later than by default, because a test machine may be slow. */
const SLOW_CLOCK: GateClock = {
  ...systemClock,
  now: () => Date.now() / 10,
  timeout: (ms) => systemClock.timeout(10 * ms),
}

/** Ends a node as a process manager does. */
export async function stop(node: ClusterNode): Promise<{ code: number | null; ms: number }> {
  const began = performance.now()
  const code = await node.process.stop('SIGTERM')
  return { code, ms: performance.now() - began }
}

/** A tenant's backend, pages that hold a channel, and phones, which use the real libraries. */
export async function startClients(
  cluster: Cluster,
  { fetch, origin, signal }: Pick<Balancer, 'fetch' | 'origin'> & { readonly signal: AbortSignal },
) {
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
  const phones = Array.from({ length: PHONES }, newPhone)
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
    /** What the tenant reads of a session. */
    async stateOf(id: string) {
      const headers = { authorization: `Bearer ${server}` }
      const response = await fetch(`${ORIGIN}/api/v1/sessions/${id}`, { headers })
      return ((await response.json()) as { state: string }).state
    },
    /** Brings a new session to its end, and returns its id. */
    async runLifecycle(): Promise<string> {
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
      return session.id
    },
  }
}
