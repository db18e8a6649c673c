import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { DatabaseSync } from 'node:sqlite'
import { dueBy } from '../../../store/tests/tables/table-operations.ts'
import { type Harness, harness } from '../../../../tests/harness/harness.ts'
import { testSigner } from '../../../../tests/harness/test-signer.ts'
import {
  type ReceiptKeySet,
  verifyConsistency,
  verifyReceipt,
} from '../../../integrator/src/index.ts'
import { MerkleTree, type Tile } from '../../../core/src/domain/merkle.ts'
import {
  base64,
  checkpointText,
  LOG_DELAY_SECONDS,
  LOG_RETENTION_MS,
  noteSignature,
  proofText,
} from '../../../core/src/domain/receipt-log.ts'
import { reportReceiptLog } from '../../../core/src/operations/admin/report-receipt-log.ts'
import { purgeLogs } from '../../../core/src/operations/maintenance/purge-sessions.ts'
import { appendReceipts } from '../../../core/src/operations/receipt/receipt-log.ts'
import type { StoredReceipt } from '../../../core/src/ports/tables/receipt-table.ts'
import { SignerError } from '../../../core/src/ports/signer.ts'

const ORIGIN = 'bond.example/receipts/log'

const receiptOf = async (h: Harness, { id }: { id: string }) =>
  (await h.api('GET', `/sessions/${id}/receipt`, { token: h.shop.server })).body as {
    receipt: string
    proof: string | null
  }
const textAt = async (h: Harness, path: string) => (await h.call('GET', path)).text
const keysOf = async (h: Harness) =>
  JSON.parse(await textAt(h, '/.well-known/jwks.json')) as ReceiptKeySet
const checkpointOf = (h: Harness) => textAt(h, '/receipts/log/checkpoint')
const sizeOf = (checkpoint: string) => Number(checkpoint.split('\n')[1])

/** Stores receipts without their sessions, and appends them. */
async function addReceipts(h: Harness, count: number): Promise<void> {
  await storeReceipts(h, count)
  while ((await appendReceipts(h.service)).done > 0);
}

/** Stores receipts without their sessions. The log does not have them yet. */
async function storeReceipts(h: Harness, count: number): Promise<void> {
  await h.service.store.write(function* (tables) {
    for (let number = 0; number < count; number++)
      yield* tables.receipts.add({
        sessionId: `sess_${h.service.random.base62(22)}` as StoredReceipt['sessionId'],
        state: 'bonded',
        tenantId: h.shop.tenant.id,
        workflow: 'w',
        action: 'a',
        browserCommitment: null,
        jws: h.service.random.base62(43),
        madeAt: h.clock.now(),
        logIndex: null,
      })
  })
}

/** Lets maintenance run until the log has every receipt. */
async function untilLogged(h: Harness, session: { id: string }): Promise<string> {
  const from = h.clock.now()
  for (;;) {
    const { proof } = await receiptOf(h, session)
    if (proof !== null) return proof
    assert.ok(h.clock.now() < from + LOG_DELAY_SECONDS * 1_000, 'later than the receipt promises')
    h.clock.advance(500)
    for (let turns = 0; turns < 20; turns++) await turn()
  }
}

test('a receipt is in the log within the time that it names, and verifies with its proof', async () => {
  await using h = await harness()
  const { session } = await h.reach('completed')
  const first = await receiptOf(h, session)
  const proof = await untilLogged(h, session)
  const jwks = await keysOf(h)
  const { receipt } = await receiptOf(h, session)
  assert.equal(receipt, first.receipt)
  const verdict = await verifyReceipt({ receipt, proof, jwks })
  assert.ok(verdict.decision === 'accept', JSON.stringify(verdict))
  assert.deepEqual(
    [verdict.checkpoint?.origin, verdict.claims.log_origin, verdict.claims.log_delay_seconds],
    [ORIGIN, ORIGIN, LOG_DELAY_SECONDS],
  )
  assert.equal(await checkpointOf(h), proof.slice(proof.indexOf('\n\n') + 2))

  const { session: other } = await h.reach('completed')
  const otherProof = await untilLogged(h, other)
  const reasonOf = async (of: { receipt?: string; proof?: string; jwks?: ReceiptKeySet }) => {
    const found = await verifyReceipt({ receipt, proof, jwks, ...of })
    return found.decision === 'accept' ? 'accept' : found.reason
  }
  assert.equal(await reasonOf({ proof: otherProof }), 'not_included')
  assert.equal(await reasonOf({ proof: proof.replace(/^index \d+/m, 'index 9') }), 'not_included')
  assert.equal(await reasonOf({ proof: 'x' }), 'proof_malformed')
  assert.equal(await reasonOf({ proof: proof.replace(ORIGIN, 'x.example') }), 'checkpoint_unsigned')
  for (let index = proof.indexOf('\n\n'); index < proof.length - 1; index++) {
    const changed = `${proof.slice(0, index)}${proof[index] === 'B' ? 'C' : 'B'}${proof.slice(index + 1)}`
    assert.notEqual(await reasonOf({ proof: changed }), 'accept', String(index))
  }
})

test('serves the checkpoint, tiles and entries of the specification, and nothing that is not covered', async () => {
  await using h = await harness()
  await addReceipts(h, 600)
  const checkpoint = await checkpointOf(h)
  assert.equal(sizeOf(checkpoint), 600)
  const read = (path: string) =>
    fetch(`http://127.0.0.1:${h.running.port}/receipts/log/tile/${path}`)
  const bytesOf = async (path: string) => new Uint8Array(await (await read(path)).arrayBuffer())
  const tiles: Tile[] = []
  for (const [path, level, index, width] of [
    ['0/000', 0, 0, 256],
    ['0/001', 0, 1, 256],
    ['0/002.p/88', 0, 2, 88],
    ['1/000.p/2', 1, 0, 2],
  ] as const) {
    const reply = await read(path)
    assert.match(String(reply.headers.get('cache-control')), /immutable/)
    const hashes = await bytesOf(path)
    assert.equal(hashes.length, width * 32, path)
    tiles.push({ level, index, hashes })
  }
  const { keys } = h.service
  const tree = new MerkleTree(keys.sha256Bytes, 600, tiles)
  assert.equal(base64(tree.root()), checkpoint.split('\n')[2])
  const bundle = await bytesOf('entries/002.p/88')
  assert.equal(bundle.length, 88 * 34)
  const leaf = createHash('sha256').update(Uint8Array.of(0)).update(bundle.subarray(2, 34)).digest()
  assert.deepEqual(leaf, Buffer.from(tiles[2]?.hashes.subarray(0, 32) ?? []))
  assert.deepEqual(await bytesOf('0/002.p/5'), tiles[2]?.hashes.subarray(0, 5 * 32))

  for (const path of [
    '0/002',
    '0/002.p/89',
    '0/003',
    '1/000',
    '2/000.p/1',
    '0/00',
    '0/x000/000',
    '0/000.p/0',
    '0/000.p/256',
    '64/000',
    '00/000',
    'entries/003',
    '0/000.p/01',
  ])
    assert.equal((await read(path)).status, 404, path)
})

test('a rotation of the key leaves earlier checkpoints and the log valid', async () => {
  const old = testSigner(0)
  let current = old
  await using h = await harness({
    receiptSigner: {
      get publicKeys() {
        return current.publicKeys
      },
      sign: (bytes) => current.sign(bytes),
    },
  })
  await addReceipts(h, 3)
  const older = await checkpointOf(h)
  for (const number of [1, 2]) {
    current = testSigner(number)
    await addReceipts(h, 5)
  }
  const newer = await checkpointOf(h)
  const proof = await textAt(h, '/receipts/log/consistency/3/13')
  const verdict = await verifyConsistency({
    older,
    newer,
    proof,
    jwks: { keys: current.publicKeys },
  })
  assert.equal(verdict.decision, 'accept')
  for (const path of ['5/3', '0/14', '3/14', '-1/3', '1e1/13'])
    assert.equal((await h.call('GET', `/receipts/log/consistency/${path}`)).status, 404, path)
})

test('a checkpoint of another log proves nothing, although the same key has signed it', async () => {
  await using h = await harness()
  const { session } = await h.reach('completed')
  const { receipt } = await receiptOf(h, session)
  const { keys } = h.service
  const signer = testSigner()
  const jwks = { keys: signer.publicKeys }
  const tree = new MerkleTree(keys.sha256Bytes, 0, [])
  tree.append([keys.digest(receipt)])
  const noteOf = async (origin: string) => {
    const text = checkpointText({ origin, size: 1, root: tree.root() })
    const signature = await signer.sign(Buffer.from(text))
    return `${text}\n${noteSignature(keys.sha256Bytes, { origin, key: signer.publicKeys[0], signature })}`
  }
  const [own, other] = [await noteOf(ORIGIN), await noteOf('other.example/receipts/log')]
  const reasonOf = async (checkpoint: string) => {
    const proof = proofText({ index: 0, path: [], checkpoint })
    const verdict = await verifyReceipt({ receipt, jwks, proof })
    return verdict.decision === 'accept' ? 'accept' : verdict.reason
  }
  assert.deepEqual([await reasonOf(own), await reasonOf(other)], ['accept', 'log_mismatch'])
  const verdict = await verifyConsistency({ older: own, newer: other, proof: '', jwks })
  assert.deepEqual(verdict, { decision: 'reject', reason: 'log_mismatch' })
})

test('100 of 100 tamperings of an operator with the database and all keys are caught by a stored checkpoint', async () => {
  await using h = await harness()
  const { keys } = h.service
  const signer = testSigner()
  const jwks = { keys: signer.publicKeys }
  const log = Array.from({ length: 700 }, (_, index) => keys.digest(`entry ${index}`))
  const treeOf = (entries: readonly Uint8Array[]) => {
    const tree = new MerkleTree(keys.sha256Bytes, 0, [])
    tree.append(entries)
    return tree
  }
  const checkpoint = async (tree: MerkleTree) => {
    const text = checkpointText({ origin: ORIGIN, size: tree.size, root: tree.root() })
    const signature = await signer.sign(Buffer.from(text))
    return `${text}\n${noteSignature(keys.sha256Bytes, { origin: ORIGIN, key: signer.publicKeys[0], signature })}`
  }
  const changes: Readonly<Record<string, (entries: Uint8Array[], at: number) => void>> = {
    edit: (entries, at) => void (entries[at] = keys.digest(`edited ${at}`)),
    drop: (entries, at) => void entries.splice(at, 1),
    reorder: (entries, at) => void entries.splice(at, 2, entries[at + 1]!, entries[at]!),
    'back-date': (entries, at) => void entries.splice(at, 0, keys.digest(`back-dated ${at}`)),
    fork: (entries, at) =>
      void entries.splice(
        at,
        entries.length,
        ...entries.slice(at).map((_, index) => keys.digest(`fork ${index}`)),
      ),
  }
  let caught = 0
  for (const [what, change] of Object.entries(changes))
    for (let round = 0; round < 20; round++) {
      const covered = 10 + ((round * 97) % 500)
      const at = (round * 31) % (covered - 2)
      const older = await checkpoint(treeOf(log.slice(0, covered)))
      const changed = [...log]
      change(changed, at)
      const tree = treeOf(changed)
      // The operator signs the changed log with the real key, and proves it as well as it can.
      const newer = await checkpoint(tree)
      for (const proof of [tree.consistency(covered), treeOf(log).consistency(covered)]) {
        const text = proof.map((hash) => `${base64(hash)}\n`).join('')
        const verdict = await verifyConsistency({ older, newer, proof: text, jwks })
        assert.deepEqual(
          verdict,
          { decision: 'reject', reason: 'log_rewritten' },
          `${what} ${round}`,
        )
      }
      caught++
    }
  assert.equal(caught, 100)
  // The same operator is trusted while it only appends.
  const older = await checkpoint(treeOf(log.slice(0, 300)))
  const honest = treeOf(log)
  const proof = honest
    .consistency(300)
    .map((hash) => `${base64(hash)}\n`)
    .join('')
  const accepted = await verifyConsistency({ older, newer: await checkpoint(honest), proof, jwks })
  assert.equal(accepted.decision, 'accept')
})

// It changes the file of the database, so the tier `postgres` does not run it.
if (process.env.TEST_STORE !== 'postgres')
  test('an entry that was edited in the database breaks the proof of its receipt', async () => {
    await using h = await harness()
    const { session } = await h.reach('completed')
    await untilLogged(h, session)
    await addReceipts(h, 5)
    const { receipt } = await receiptOf(h, session)
    using database = new DatabaseSync(h.databaseFile)
    database.exec(
      `update receipt_log_tile set hashes = cast(substr(hashes, 1, 32) || zeroblob(32) || substr(hashes, 65) as blob) where level = 0`,
    )
    const { proof } = await receiptOf(h, session)
    const verdict = await verifyReceipt({ receipt, proof: proof ?? '', jwks: await keysOf(h) })
    assert.equal(verdict.decision === 'reject' && verdict.reason, 'not_included')
  })

test('nodes that append at once give every receipt one place', async () => {
  await using h = await harness()
  const runs = Array.from({ length: 4 }, async () => {
    await addReceipts(h, 150)
    await Promise.all([appendReceipts(h.service), appendReceipts(h.service)])
  })
  await Promise.all(runs)
  await appendReceipts(h.service)
  assert.equal(sizeOf(await checkpointOf(h)), 600)
  assert.deepEqual(await h.service.store.read((tables) => tables.receipts.unlogged(1)), [])
})

test('of two changes of the log from one size, the second changes nothing', async () => {
  await using h = await harness()
  await addReceipts(h, 3)
  const write = h.service.store.write.bind(h.service.store)
  const now = h.clock.now()
  const append = (size: number) =>
    write((tables) => tables.receiptLog.append({ before: 3, size, auditSize: 0, tiles: [], now }))
  assert.deepEqual([await append(5), await append(4)], [true, false])
  await write((tables) => tables.receiptLog.storeCheckpoint('five', { epoch: '', size: 5 }))
  for (const size of [4, 5])
    await write((tables) => tables.receiptLog.storeCheckpoint('late', { epoch: '', size }))
  const head = await h.service.store.read((tables) => tables.receiptLog.head())
  assert.deepEqual([head.size, head.checkpoint, head.checkpointSize], [5, 'five', 5])
})

test('a signer that fails after the append leaves the checkpoint to the next run', async () => {
  const honest = testSigner()
  let isBroken = true
  await using h = await harness({
    receiptSigner: {
      ...honest,
      sign: async (bytes) => {
        if (isBroken) throw new SignerError('gone')
        return honest.sign(bytes)
      },
    },
  })
  await assert.rejects(addReceipts(h, 10), SignerError)
  for (const path of ['checkpoint', 'tile/0/000.p/10', 'tile/entries/000.p/1', 'consistency/1/10'])
    assert.equal((await h.call('GET', `/receipts/log/${path}`)).status, 404, path)
  isBroken = false
  await appendReceipts(h.service)
  assert.equal(sizeOf(await checkpointOf(h)), 10)
})

test('the retention of the log deletes full tiles only, and later entries keep their proofs', async () => {
  await using h = await harness()
  await addReceipts(h, 600)
  const { session } = await h.reach('completed')
  await untilLogged(h, session)
  const now = h.clock.now()
  assert.equal(await h.service.store.write((tables) => tables.receiptLog.prune(now, 10)), 2)
  assert.equal((await h.call('GET', '/receipts/log/tile/0/000')).status, 404)
  await addReceipts(h, 200)
  const { receipt, proof } = await receiptOf(h, session)
  const verdict = await verifyReceipt({ receipt, proof: proof ?? '', jwks: await keysOf(h) })
  assert.equal(verdict.decision, 'accept')
})

test('the purge keeps a receipt until the log has it', async () => {
  await using h = await harness()
  const purge = () =>
    h.service.store.write((tables) => tables.purge('receipts', dueBy(h.clock.now(), 2)))
  await storeReceipts(h, 3)
  assert.equal(await purge(), 0)
  await appendReceipts(h.service)
  assert.equal(sizeOf(await checkpointOf(h)), 3)
  // As many as one purge deletes: they do not stop those that the log has.
  await storeReceipts(h, 2)
  assert.deepEqual([await purge(), await purge()], [2, 1])
  await appendReceipts(h.service)
  assert.equal(sizeOf(await checkpointOf(h)), 5)
  assert.equal(await purge(), 2)
})

test('doctor warns of a receipt that the log does not have in time', async () => {
  await using h = await harness()
  const warningsAfter = async (ms: number) => {
    const clock = { ...h.service.clock, now: () => h.clock.now() + ms }
    return (await reportReceiptLog({ ...h.service, clock })).warnings.join()
  }
  const delayMs = LOG_DELAY_SECONDS * 1_000
  await storeReceipts(h, 1)
  assert.equal(await warningsAfter(delayMs), '')
  assert.match(await warningsAfter(delayMs + 1), /^The receipt of 20.* is not in the log/)
  await appendReceipts(h.service)
  assert.equal(await warningsAfter(delayMs + 1), '')
})

test('the log has an entry until its retention ends', async () => {
  await using h = await harness()
  await addReceipts(h, 256)
  const statuses: number[] = []
  for (const ms of [LOG_RETENTION_MS - 60_000, 120_000]) {
    h.clock.advance(ms)
    await purgeLogs(h.service)
    statuses.push((await h.call('GET', '/receipts/log/tile/entries/000')).status)
  }
  assert.deepEqual(statuses, [200, 404])
})
