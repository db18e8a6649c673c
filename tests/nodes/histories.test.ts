import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { type Cluster, startCluster } from '../../packages/service/tests/harness/cluster.ts'
import { checkDatabase } from '../pressure/history-check.ts'
import { breakNodes } from './break-nodes.ts'
import { addTenant, runLoad } from './load.ts'
import { PLANTED_FAULTS } from './planted-faults.ts'
import type { Shop } from '../pressure/running.ts'

/**
 * Concurrent clients against several nodes, which are killed and restarted, and whose connections to
 * the database break. `PRESSURE_SESSIONS` sets the number of sessions. Without it the test makes as
 * many as this machine does in `MADE_WITHIN_MS`.
 */
const { PRESSURE_SESSIONS } = process.env
const MADE_WITHIN_MS = 40_000
/** Enough of them wait for a node that restarts, and the others keep two cores busy. */
const SESSIONS_AT_ONCE = 40
/** Many more than it took to find each planted fault. */
const SESSIONS_WITH_FAULT = 500
const SESSIONS_WITH_FAULT_AT_ONCE = 8
const PLANT_FAULTS = pathToFileURL(join(import.meta.dirname, 'plant-faults.ts')).href
/** One way, on the connections of one of two nodes: the other node is always faster. */
const DELAY_MS = 25

let cluster: Cluster
let shop: Shop
before(async () => {
  cluster = await startCluster({ store: 'postgres', nodes: 3 })
  shop = await addTenant(cluster)
})
after(() => cluster[Symbol.asyncDispose]())

test('one order explains every response of three nodes that are killed and cut off from PostgreSQL', {
  timeout: PRESSURE_SESSIONS === undefined ? 300_000 : Number.POSITIVE_INFINITY,
}, async (t) => {
  const began = performance.now()
  const ending = new AbortController()
  // A test that has exceeded its time must end, or its nodes keep this process alive.
  const signal = AbortSignal.any([t.signal, ending.signal])
  const isEnough = (sessions: number) =>
    PRESSURE_SESSIONS === undefined
      ? performance.now() - began >= MADE_WITHIN_MS
      : sessions >= Number(PRESSURE_SESSIONS)
  const chaos = breakNodes(cluster.nodes, signal)
  const load = runLoad({
    nodes: cluster.nodes,
    shop,
    inProgress: SESSIONS_AT_ONCE,
    goOn: ({ sessions }) => !signal.aborted && !isEnough(sessions),
  }).finally(() => ending.abort())
  const [faults, { sessions, calls, lost }] = await Promise.all([
    chaos.finally(() => ending.abort()),
    load,
  ])
  const perMinute = Math.round((60_000 * sessions) / (performance.now() - began))
  t.diagnostic(`${sessions} sessions, ${perMinute} a minute; ${calls} calls, ${lost} lost answers`)
  t.diagnostic(`faults: ${JSON.stringify(faults)}`)
  assert.ok(lost > 0, 'the faults reached the clients')
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
