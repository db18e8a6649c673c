import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { type Cluster, startCluster } from '../harness/cluster.ts'
import { IS_FRESH } from '../random.ts'
import { checkDatabase } from '../pressure/history-check.ts'
import { breakNodes, type FaultCounts } from './break-nodes.ts'
import { addTenant, type Counts, runLoad } from './load.ts'
import { PLANTED_FAULTS } from './planted-faults.ts'
import type { Shop } from '../pressure/running.ts'

/**
 * Concurrent clients against several nodes, which are killed and restarted, and whose connections
 * to the database break. Ends after `SESSIONS`. `PRESSURE_SESSIONS` sets their number, and prints
 * the progress.
 */
const { PRESSURE_SESSIONS = IS_FRESH ? '20000' : undefined } = process.env
const IS_LONG = PRESSURE_SESSIONS !== undefined
const SESSIONS = IS_LONG ? Number(PRESSURE_SESSIONS) : 1_000
const PROGRESS_EVERY_MS = 60_000
/**
 * While some wait for a node that restarts, the others keep two cores busy. Each has up to four
 * calls in flight, and a slow machine responds to more of them with 503.
 */
const SESSIONS_AT_ONCE = 24
/** Many more than it took to find each planted fault. */
const SESSIONS_WITH_FAULT = 500
const SESSIONS_WITH_FAULT_AT_ONCE = 8
const PLANT_FAULTS = pathToFileURL(join(import.meta.dirname, 'plant-faults.ts')).href
/** Enough for two cores. Each connection more costs CPU time of PostgreSQL. */
const CONNECTIONS_A_NODE = '3'
/**
 * A prepared statement that was planned for empty tables keeps reading whole tables. With these
 * settings it uses an index from the beginning, and PostgreSQL needs half of the CPU time a
 * session.
 */
const POSTGRES = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  // Before version 18, a scan of a table without an index would seem to be worth compiling.
  jit: 'off',
  autovacuum_naptime: '30s',
} as const
/** One way, on the connections of one of two nodes: the other node is always faster. */
const DELAY_MS = 25

let cluster: Cluster
let shop: Shop
before(async () => {
  cluster = await startCluster({
    store: 'postgres',
    nodes: 3,
    envOfAll: { BONDED_DATABASE_POOL_SIZE: CONNECTIONS_A_NODE },
    postgres: POSTGRES,
  })
  shop = await addTenant(cluster)
})
after(() => cluster[Symbol.asyncDispose]())

test('one order explains every response of three nodes that are killed and cut off from PostgreSQL', {
  ...(IS_LONG && { timeout: Number.POSITIVE_INFINITY }),
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
      return !signal.aborted && counts.sessions < SESSIONS
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
    let begun = 0
    await assert.rejects(
      runLoad({
        nodes,
        shop,
        inProgress: SESSIONS_WITH_FAULT_AT_ONCE,
        goOn() {
          begun += 1
          return begun <= SESSIONS_WITH_FAULT
        },
      }),
      /no order explains the responses/,
    )
    t.diagnostic(`found in the first ${begun} sessions`)
    for (const node of nodes) await node.kill()
  })
