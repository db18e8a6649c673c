import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type Cluster, startCluster } from '../harness/cluster.ts'
import { until } from '../harness/process.ts'
import {
  type ReceiptKeySet,
  verifyConsistency,
  verifyReceipt,
} from '../../packages/integrator/src/index.ts'
import { choose, random } from '../pressure/chance.ts'
import { exchangeWith, type Reply } from '../pressure/exchange.ts'
import type { RecordedSession } from '../pressure/recorder.ts'
import type { Shop } from '../pressure/running.ts'
import { addTenant, retried, runLoad } from './load.ts'

/** Ends with the last kill, when there are as many receipts. */
const KILLS = 5
const RECEIPTS = 6
/** The times from just after a start to several runs of the maintenance later. */
const KILL_AFTER_MS = { least: 100, spread: 1_400 } as const
const POLL_MS = 20
const HOLD_AFTER_MS = 300
/**
 * Longer than the pause between two appends of a node, so that all nodes wait in an append, go on
 * at the same time, and some of them are killed there.
 */
const HOLD_LOG = `do $$ begin
  perform 1 from receipt_log for update; perform pg_sleep(1.1); end $$`
/** What a receipt promises. */
const LOGGED_WITHIN_MS = 60_000

const folder = mkdtempSync(join(tmpdir(), 'bonded-log-'))
let cluster: Cluster
let shop: Shop
before(async () => {
  const keys = join(folder, 'receipts.pem')
  const { privateKey } = generateKeyPairSync('ed25519')
  writeFileSync(keys, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  cluster = await startCluster({
    store: 'postgres',
    nodes: 3,
    envOfAll: { BONDED_RECEIPT_KEYS: keys, BONDED_DATABASE_POOL_SIZE: '3' },
  })
  shop = await addTenant(cluster)
})
after(async () => {
  await cluster[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

const origin = () => choose(cluster.nodes).origin
const sql = async (text: string) => (await cluster.server?.run(text, cluster.databaseUrl)) ?? []
/** Asks a random node. A node that is down is asked again, or another one is. */
const publicText = (path: string, from = origin) =>
  until(
    () =>
      fetch(`${from()}${path}`).then(
        // A node that starts, or waits for the lock of this test, answers 503.
        (reply) => (reply.status < 500 ? reply.text() : undefined),
        () => undefined,
      ),
    LOGGED_WITHIN_MS,
  )
const sizeOf = (checkpoint: string) => Number(checkpoint.split('\n')[1])

test('three nodes that are killed give every receipt one place in one log', async (t) => {
  const sessions: RecordedSession[] = []
  const checkpoints = new Map<number, Set<string>>()
  const note = (checkpoint: string) => {
    const size = sizeOf(checkpoint)
    if (size > 0) checkpoints.set(size, (checkpoints.get(size) ?? new Set()).add(checkpoint))
  }
  const ending = new AbortController()
  const killing = async () => {
    for (let kill = 0; kill < KILLS; kill++) {
      await wait(KILL_AFTER_MS.least + random(KILL_AFTER_MS.spread))
      const node = choose(cluster.nodes)
      await node.kill()
      await node.restart()
    }
    ending.abort()
  }
  const watching = async () => {
    for (; !ending.signal.aborted; await wait(POLL_MS))
      note(await publicText('/receipts/log/checkpoint'))
  }
  const holding = async () => {
    for (; !ending.signal.aborted; await wait(HOLD_AFTER_MS)) await sql(HOLD_LOG)
  }
  const loading = runLoad({
    nodes: cluster.nodes,
    shop,
    inProgress: 4,
    goOn: () => !ending.signal.aborted || sessions.filter(isBonded).length < RECEIPTS,
    ended: (session) => void sessions.push(session),
  })
  await Promise.all([killing(), watching(), holding(), loading])

  using exchange = exchangeWith(() => Number(new URL(origin()).port))
  const get = (path: string) => retried(() => exchange('GET', path, { token: shop.server }))
  const proved: Reply['body'][] = []
  for (const { session } of sessions) {
    const { state } = (await get(`/sessions/${session.id}`)).body
    if (state !== 'bonded' && state !== 'completed') continue
    const path = `/sessions/${session.id}/receipt`
    const isProved = ({ body }: Reply) => (body.proof === null ? undefined : body)
    proved.push(await until(() => get(path).then(isProved), LOGGED_WITHIN_MS))
  }
  // Each checkpoint of each node, also those after the last append.
  for (const node of cluster.nodes)
    note(await publicText('/receipts/log/checkpoint', () => node.origin))
  t.diagnostic(
    `${sessions.length} sessions, ${proved.length} receipts, ${checkpoints.size} checkpoints`,
  )
  assert.ok(proved.length >= RECEIPTS)

  const jwks = JSON.parse(await publicText('/.well-known/jwks.json')) as ReceiptKeySet
  const places = new Set<string>()
  for (const { receipt, proof } of proved) {
    const verdict = await verifyReceipt({ receipt, proof, jwks })
    assert.equal(verdict.decision, 'accept', JSON.stringify(verdict))
    places.add(proof.split('\n')[1])
  }
  assert.equal(places.size, proved.length)
  await compareEntries()
  await compareCheckpoints([...checkpoints.values()], jwks)
})

/** Whether a caller received that the session was bonded. It has a receipt then, or gets one. */
const isBonded = ({ history }: RecordedSession) =>
  history.some(({ response }) => response?.state === 'bonded' || response?.state === 'completed')

/** The log publishes the stored receipts, each once and at its index, and one audited action. */
async function compareEntries(): Promise<void> {
  const stored = await sql('select jws, log_index from receipt order by log_index')
  const size = sizeOf(await publicText('/receipts/log/checkpoint'))
  const entries: Buffer[] = []
  for (let tile = 0; tile * 256 < size; tile++) {
    const width = Math.min(256, size - tile * 256)
    const name = `${String(tile).padStart(3, '0')}${width < 256 ? `.p/${width}` : ''}`
    const reply = await fetch(`${origin()}/receipts/log/tile/entries/${name}`)
    const bundle = Buffer.from(await reply.arrayBuffer())
    for (let index = 2; index < bundle.length; index += 34)
      entries.push(bundle.subarray(index, index + 32))
  }
  const indexes = stored.map(({ log_index }) => Number(log_index))
  const hashes = stored.map(({ jws }) => createHash('sha256').update(String(jws)).digest())
  assert.equal(entries.length, size)
  assert.deepEqual(
    indexes.map((index) => entries[index]),
    hashes,
  )
  // The creation of the tenant has an audit entry, and a marker behind it.
  assert.equal(new Set(indexes).size, size - 2)
}

/** No two checkpoints of one size differ, and each one continues the one before. */
async function compareCheckpoints(
  all: readonly ReadonlySet<string>[],
  jwks: ReceiptKeySet,
): Promise<void> {
  const notes = all
    .map((same) => {
      assert.equal(same.size, 1, [...same].join())
      return [...same].join('')
    })
    .toSorted((one, other) => sizeOf(one) - sizeOf(other))
  for (const [index, newer] of notes.entries()) {
    const older = notes[Math.max(0, index - 1)] ?? ''
    const path = `/receipts/log/consistency/${sizeOf(older)}/${sizeOf(newer)}`
    const verdict = await verifyConsistency({ older, newer, proof: await publicText(path), jwks })
    assert.equal(verdict.decision, 'accept', `${path}: ${JSON.stringify(verdict)}`)
  }
}
