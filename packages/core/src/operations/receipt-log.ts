import {
  edgeTiles,
  MerkleTree,
  MissingTile,
  proofTiles,
  type Sha256,
  type Tile,
  TILE_WIDTH,
} from '../domain/merkle.ts'
import { checkpointText, LOG_BATCH, logOrigin, noteSignature } from '../domain/receipt-log.ts'
import type { Signer } from '../ports/signer.ts'
import type { Tables } from '../ports/store.ts'
import type { LogHead, StoredTile } from '../ports/tables/receipt-log-table.ts'
import type { Work } from '../ports/work.ts'
import type { Batch } from './batch.ts'
import type { Service } from './service.ts'

/** An entry is the hash of a receipt, so the log has no personal data. */
const ENTRY_BYTES = 32

/**
 * Appends the receipts that are not in the log, in one order for all nodes, and signs a checkpoint
 * that covers them. A process that dies in between leaves the checkpoint to the next run.
 */
export async function appendReceipts(service: Service): Promise<Batch> {
  const { receiptSigner, store } = service
  if (receiptSigner === undefined) return { done: 0, more: false }
  const isIdle = await store.read(function* ({ receipts, receiptLog }) {
    const { size, checkpointSize } = yield* receiptLog.head()
    return size === checkpointSize && (yield* receipts.unlogged(1)).length === 0
  })
  if (isIdle) return { done: 0, more: false }
  const { done, head } = await store.write((tables) => append(service, tables))
  if (head.checkpointSize < head.size) await signCheckpoint(service, receiptSigner, head.size)
  return { done, more: done === LOG_BATCH }
}

function* append(
  { keys, clock }: Service,
  { receipts, receiptLog }: Tables,
): Work<{ readonly done: number; readonly head: LogHead }> {
  const head = yield* receiptLog.head()
  const waiting = yield* receipts.unlogged(LOG_BATCH)
  if (waiting.length === 0) return { done: 0, head }
  const edge = yield* readTiles(receiptLog, edgeTiles(head.size))
  const entries = waiting.map(({ jws }) => keys.digest(jws))
  const tree = new MerkleTree(keys.sha256Bytes, head.size, edge)
  const tiles = tree.append(entries).map((tile) => withEntries(tile, { head, edge, entries }))
  const { size } = tree
  const now = clock.now()
  if (!(yield* receiptLog.append({ before: head.size, size, tiles, now }))) return { done: 0, head }
  for (const [index, receipt] of waiting.entries())
    yield* receipts.setLogIndex(receipt, head.size + index)
  return { done: waiting.length, head: { ...head, size } }
}

/** Adds the entries of a tile of level 0 to its hashes. */
function withEntries(
  tile: Tile,
  of: {
    readonly head: LogHead
    readonly edge: readonly StoredTile[]
    readonly entries: readonly Uint8Array[]
  },
): StoredTile {
  if (tile.level > 0) return { ...tile, entries: null }
  const { head, edge, entries } = of
  const bytes = new Uint8Array(tile.hashes.length)
  const first = tile.index * TILE_WIDTH
  const before = edge.find(({ level, index }) => level === 0 && index === tile.index)?.entries
  if (before) bytes.set(before)
  for (const [index, entry] of entries.entries()) {
    const place = head.size + index - first
    if (place >= 0 && place * ENTRY_BYTES < bytes.length) bytes.set(entry, place * ENTRY_BYTES)
  }
  return { ...tile, entries: bytes }
}

async function signCheckpoint(service: Service, signer: Signer, size: number): Promise<void> {
  const { keys, settings, store } = service
  const tiles = await store.read((tables) => readTiles(tables.receiptLog, edgeTiles(size)))
  const root = new MerkleTree(keys.sha256Bytes, size, tiles).root(size)
  const origin = logOrigin(settings.publicOrigin)
  const text = checkpointText({ origin, size, root })
  const signature = await signer.sign(new TextEncoder().encode(text))
  const line = noteSignature(keys.sha256Bytes, { origin, key: signer.publicKeys[0], signature })
  await store.write((tables) => tables.receiptLog.storeCheckpoint(`${text}\n${line}`, size))
}

/**
 * The proof that an entry is covered by a checkpoint: by the latest one with cosignatures, or else
 * the latest one. Undefined if it is not.
 */
export function* inclusionOf(
  sha256: Sha256,
  { receiptLog }: Tables,
  index: number,
): Work<{ readonly path: readonly Uint8Array[]; readonly checkpoint: string } | undefined> {
  const head = yield* receiptLog.head()
  const [checkpoint, size] =
    index < head.cosignedSize
      ? [head.cosigned, head.cosignedSize]
      : [head.checkpoint, head.checkpointSize]
  if (index >= size) return undefined
  const tiles = yield* readTiles(receiptLog, proofTiles(index, size))
  return { path: new MerkleTree(sha256, size, tiles).inclusion(index), checkpoint }
}

/**
 * The proof that one size of the log is a prefix of another. Undefined if it has no such sizes, or
 * no longer the entries before them.
 */
export async function consistencyOf(
  { keys, store }: Service,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<readonly Uint8Array[] | undefined> {
  return store.read(function* ({ receiptLog }) {
    const head = yield* receiptLog.head()
    if (from > to || to > head.checkpointSize) return undefined
    if (from === 0 || from === to) return []
    const tiles = yield* readTiles(receiptLog, proofTiles(from - 1, to))
    try {
      return new MerkleTree(keys.sha256Bytes, to, tiles).consistency(from)
    } catch (failure) {
      if (failure instanceof MissingTile) return undefined
      throw failure
    }
  })
}

function* readTiles(
  receiptLog: Tables['receiptLog'],
  wanted: readonly Pick<Tile, 'level' | 'index'>[],
): Work<readonly StoredTile[]> {
  const tiles: StoredTile[] = []
  for (const { level, index } of wanted) {
    const tile = yield* receiptLog.tile(level, index)
    if (tile !== undefined) tiles.push(tile)
  }
  return tiles
}
