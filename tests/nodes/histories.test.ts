import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { type Cluster, startCluster } from '../../packages/service/tests/harness/cluster.ts'
import { checkDatabase } from '../pressure/history-check.ts'
import { breakNodes, type FaultCounts } from './break-nodes.ts'
import { addTenant, type Counts, runLoad } from './load.ts'
import { PLANTED_FAULTS } from './planted-faults.ts'
import type { Shop } from '../pressure/running.ts'

/**
 * Concurrent clients against several nodes, which are killed and restarted, and whose connections to
 * the database break. Makes as many sessions as this machine does in `MADE_WITHIN_MS`.
 * `PRESSURE_SESSIONS` sets their number without a time limit, and prints the progress.
 */
const { PRESSURE_SESSIONS } = process.env
const IS_LONG = PRESSURE_SESSIONS !== undefined
const SESSIONS = IS_LONG ? Number(PRESSURE_SESSIONS) : Number.POSITIVE_INFINITY
const MADE_WITHIN_MS = IS_LONG ? Number.POSITIVE_INFINITY : 60_000
const PROGRESS_EVERY_MS = 60_000
/**
 * While some wait for a node that restarts, the others keep two cores busy. Each has four calls in
 * flight, and a slow machine answers more of them with 503.
 */
const SESSIONS_AT_ONCE = 24
/** Many more than it took to find each planted fault. */
const SESSIONS_WITH_FAULT = 500
const SESSIONS_WITH_FAULT_AT_ONCE = 8
const PLANT_FAULTS = pathToFileURL(join(import.meta.dirname, 'plant-faults.ts')).href
/** Enough for two cores. With ten, PostgreSQL uses a fifth more CPU time a session. */
const CONNECTIONS_A_NODE = '4'
/** One way, on the connections of one of two nodes: the other node is always faster. */
const DELAY_MS = 25

let cluster: Cluster
let shop: Shop
before(async () => {
  cluster = await startCluster({
    store: 'postgres',
    nodes: 3,
    envOfAll: { BONDED_DATABASE_POOL_SIZE: CONNECTIONS_A_NODE },
  })
  shop = await addTenant(cluster)
})
after(() => cluster[Symbol.asyncDispose]())

test('one order explains every response of three nodes that are killed and cut off from PostgreSQL', {
  timeout: IS_LONG ? Number.POSITIVE_INFINITY : 360_000,
}, async (t) => {
  const began = performance.now()
  const ending = new AbortController()
  // A test that has exceeded its time must end, or its nodes keep this process alive.
  const signal = AbortSignal.any([t.signal, ending.signal])
  const faults: FaultCounts = {}
  let made: Counts = { sessions: 0, calls: 0, lost: 0 }
  const summary = () => {
    const { sessions, calls, lost } = made
    const perMinute = Math.round((60_000 * sessions) / (performance.now() - began))
    return `${sessions} sessions, ${perMinute} a minute; ${calls} calls, ${lost} lost answers; faults: ${JSON.stringify(faults)}`
  }
  const progress = IS_LONG
    ? setInterval(() => console.log(summary()), PROGRESS_EVERY_MS)
    : undefined
  const chaos = breakNodes(cluster.nodes, {
    signal,
    counts: faults,
    sessions: () => made.sessions,
  })
  const load = runLoad({
    nodes: cluster.nodes,
    shop,
    inProgress: SESSIONS_AT_ONCE,
    goOn(counts) {
      made = counts
      const isInTime = performance.now() - began < MADE_WITHIN_MS
      return !signal.aborted && isInTime && counts.sessions < SESSIONS
    },
  })
  // The first of the two that fails ends the other one.
  const end = () => ending.abort()
  await Promise.all([chaos.finally(end), load.finally(end)]).finally(() => clearInterval(progress))
  t.diagnostic(summary())
  assert.ok(made.lost > 0, 'the faults reached the clients')
  await checkDatabase(cluster.databaseUrl)
})

for (const { name, edits } of PLANTED_FAULTS)
  test(`the check of the histories fails when ${name}`, async (t) => {
    const env = { NODE_OPTIONS: `--import=${PLANT_FAULTS}`, PLANTED_EDITS: JSON.stringify(edits) }
    const nodes = await Promise.all([cluster.addNode(env), cluster.addNode(env)])
    nodes[0]?.proxy?.delay(DELAY_MS)
    let made = 0
    await assert.rejects(
      runLoad({
        nodes,
        shop,
        inProgress: SESSIONS_WITH_FAULT_AT_ONCE,
        goOn({ sessions }) {
          made = sessions
          return sessions < SESSIONS_WITH_FAULT
        },
      }),
      /no order explains the responses/,
    )
    t.diagnostic(`found in ${made} sessions`)
    for (const node of nodes) await node.kill()
  })
