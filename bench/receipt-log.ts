import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { keyringOf } from '../packages/server/src/adapters/keys/keyring.ts'
import { edgeTiles, MerkleTree } from '../packages/core/src/domain/merkle.ts'
import { inclusionOf } from '../packages/core/src/operations/receipt/receipt-log.ts'
import type { StoredTile } from '../packages/core/src/ports/tables/receipt-log-table.ts'
import { migrate } from '../packages/store/src/migrations/migrate.ts'
import { workFolder } from './process.ts'
import { openStore } from './stored-sessions.ts'

/**
 * Measures the inclusion proof of a receipt in a log with a million entries, on SQLite: the reads
 * of the tiles and the hashing. The CPU time is that of all proofs, by their number: on a busy
 * machine the slowest proofs wait for other processes. Prints one line of JSON.
 */
const ENTRIES = Number(process.env.BENCH_ENTRIES ?? 1_000_000)
const BATCH = 50_000
const PROOFS = 1_000
const WARM_UP = 100

const { sha256Bytes } = keyringOf([{ id: 'k1', bytes: new Uint8Array(32).fill(1) }])
const folder = workFolder()
const file = join(folder, 'bonded.db')
migrate(file, Date.now())
const store = openStore(file)

const began = performance.now()
for (let size = 0; size < ENTRIES; size += BATCH) {
  const entries = Array.from({ length: BATCH }, (_, index) =>
    sha256Bytes(Buffer.from(String(size + index))),
  )
  await store.write(function* ({ receiptLog }) {
    const edge: StoredTile[] = []
    for (const { level, index } of edgeTiles(size)) {
      const tile = yield* receiptLog.tile(level, index)
      if (tile !== undefined) edge.push(tile)
    }
    const tree = new MerkleTree(sha256Bytes, size, edge)
    const tiles = tree.append(entries).map((tile) => ({ ...tile, entries: null }))
    yield* receiptLog.append({ before: size, size: tree.size, auditSize: 0, tiles, now: 0 })
    yield* receiptLog.storeCheckpoint('-', { epoch: '', size: tree.size })
  })
}
const appendMs = performance.now() - began

const service = { keys: { sha256Bytes }, settings: { publicOrigin: 'https://bond.example' } }
const times: number[] = []
let cpu = process.cpuUsage()
for (let round = 0; round < PROOFS + WARM_UP; round++) {
  const index = Math.floor(Math.random() * ENTRIES)
  if (round === WARM_UP) cpu = process.cpuUsage()
  const start = performance.now()
  await store.read((tables) => inclusionOf(service, tables, { index, origin: undefined }))
  if (round >= WARM_UP) times.push(performance.now() - start)
}
const { user, system } = process.cpuUsage(cpu)
times.sort((a, b) => a - b)
const at = (share: number) => Number((times[Math.floor(times.length * share)] ?? 0).toFixed(3))
const document = {
  entries: ENTRIES,
  append_seconds: Number((appendMs / 1_000).toFixed(1)),
  proof_cpu_ms: Number(((user + system) / 1_000 / PROOFS).toFixed(3)),
  proof_ms: { p50: at(0.5), p95: at(0.95), p99: at(0.99) },
}
process.stdout.write(`${JSON.stringify(document)}\n`)
await store[Symbol.asyncDispose]()
rmSync(folder, { recursive: true })
