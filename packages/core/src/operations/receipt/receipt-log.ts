import {
  edgeTiles,
  MerkleTree,
  MissingTile,
  proofTiles,
  type Tile,
  TILE_WIDTH,
} from '../../domain/merkle.ts'
import { auditLeaf, auditMarker } from '../../domain/audit.ts'
import { checkpointText, LOG_BATCH, logOrigin, noteSignature } from '../../domain/receipt-log.ts'
import { LogRefused } from '../../ports/kept-checkpoint.ts'
import type { Signer } from '../../ports/signer.ts'
import type { Tables } from '../../ports/store.ts'
import type { LogHead, StoredTile } from '../../ports/tables/receipt-log-table.ts'
import type { Work } from '../../ports/work.ts'
import type { Batch } from '../maintenance/batch.ts'
import { checkBeforeSigning, checkLog, continueLog, maySign, signStatements } from './log-epochs.ts'
import { readTiles } from './read-tiles.ts'
import type { Service } from '../service.ts'

/** A leaf is a hash of a receipt or of an audit entry, so the log has no personal data. */
const ENTRY_BYTES = 32

/**
 * Appends the receipts and the audit entries that are not in the log, in one order for all nodes,
 * and signs a checkpoint that covers them. A process that dies in between leaves the checkpoint to
 * the next run.
 */
export async function appendReceipts(service: Service): Promise<Batch> {
  const { receiptSigner, store, clock, meter } = service
  if (receiptSigner === undefined) return { done: 0, more: false }
  const { head: before, waitingSince } = await store.read(function* (tables) {
    const head = yield* tables.receiptLog.head()
    const [receipt] = yield* tables.receipts.unlogged(1)
    const [entry] = yield* tables.audit.list({ after: head.auditSize, limit: 1 })
    const since = Math.min(receipt?.madeAt ?? Infinity, entry?.at ?? Infinity)
    return { head, waitingSince: since === Infinity ? undefined : since }
  })
  const measure = (isRefused: boolean) =>
    meter.measuredReceiptLog({
      oldestWaitingMs: Math.max(0, clock.now() - (waitingSince ?? clock.now())),
      isRefused,
      begunAt: before.begunAt,
    })
  try {
    await checkLog(service, before)
    measure(false)
  } catch (failure) {
    measure(failure instanceof LogRefused)
    throw failure
  }
  const isIdle = before.size === before.checkpointSize && waitingSince === undefined
  const { done, head } = isIdle
    ? { done: 0, head: before }
    : await store.write((tables) => append(service, tables))
  if (head.epoch !== '') await signStatements(service, receiptSigner)
  if (head.checkpointSize < head.size && maySign(service, head))
    await signCheckpoint(service, receiptSigner, head)
  return { done, more: done === LOG_BATCH }
}

/**
 * Appends every receipt that is not in the log, without a checkpoint: a node that runs signs one.
 *
 * @throws {LogRefused} if no node may sign
 */
export async function appendWaiting(service: Service): Promise<void> {
  if (service.receiptSigner === undefined) return
  await checkLog(service, await service.store.read(({ receiptLog }) => receiptLog.head()))
  while ((await service.store.write((tables) => append(service, tables))).done === LOG_BATCH);
}

function* append(
  service: Service,
  tables: Tables,
): Work<{ readonly done: number; readonly head: LogHead }> {
  const { keys, clock } = service
  const { audit, receipts, receiptLog } = tables
  const head = yield* continueLog(service, tables, yield* receiptLog.head())
  const waiting = yield* receipts.unlogged(LOG_BATCH)
  const actions = yield* audit.list({ after: head.auditSize, limit: LOG_BATCH })
  const auditSize = head.auditSize + actions.length
  if (waiting.length + actions.length === 0) return { done: 0, head }
  const edge = yield* readTiles(receiptLog, edgeTiles(head.size))
  const last = actions.at(-1)
  const entries = [
    ...waiting.map(({ jws }) => keys.digest(jws)),
    // Its hash covers all entries before it.
    ...(last === undefined ? [] : [auditLeaf(keys.sha256Bytes, last), auditMarker(auditSize)]),
  ]
  const tree = new MerkleTree(keys.sha256Bytes, head.size, edge)
  const tiles = tree.append(entries).map((tile) => withEntries(tile, { head, edge, entries }))
  const { size } = tree
  const now = clock.now()
  const change = { before: head.size, size, auditSize, tiles, now }
  if (!(yield* receiptLog.append(change))) return { done: 0, head }
  for (const [index, receipt] of waiting.entries())
    yield* receipts.setLogIndex(receipt, head.size + index)
  const done = Math.max(waiting.length, actions.length)
  return { done, head: { ...head, size, auditSize } }
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

async function signCheckpoint(service: Service, signer: Signer, head: LogHead): Promise<void> {
  const { keys, settings, store, keptCheckpoint } = service
  const { epoch, size } = head
  await checkBeforeSigning(service, head)
  const tiles = await store.read((tables) => readTiles(tables.receiptLog, edgeTiles(size)))
  const root = new MerkleTree(keys.sha256Bytes, size, tiles).root(size)
  const origin = logOrigin(settings.publicOrigin, epoch)
  const text = checkpointText({ origin, size, root })
  const signature = await signer.sign(new TextEncoder().encode(text))
  const line = noteSignature(keys.sha256Bytes, { origin, key: signer.publicKeys[0], signature })
  const checkpoint = `${text}\n${line}`
  // Before others can see it, so that this node can never sign what contradicts it.
  await keptCheckpoint?.store(checkpoint)
  await store.write(({ receiptLog }) => receiptLog.storeCheckpoint(checkpoint, { epoch, size }))
}

/**
 * The proof that an entry is covered by a checkpoint: by the latest one with cosignatures, or else
 * the latest one. Undefined if it is not. The log that the receipt names proves it, also after it
 * was closed; otherwise the one that continues it.
 */
export function* inclusionOf(
  {
    keys: { sha256Bytes: sha256 },
    settings,
  }: {
    readonly keys: Pick<Service['keys'], 'sha256Bytes'>
    readonly settings: Pick<Service['settings'], 'publicOrigin'>
  },
  { receiptLog }: Tables,
  { index, origin }: { readonly index: number; readonly origin: string | undefined },
): Work<{ readonly path: readonly Uint8Array[]; readonly checkpoint: string } | undefined> {
  const head = yield* receiptLog.head()
  const closed = head.epoch === '' ? [] : yield* receiptLog.closed()
  const own = closed.find(({ epoch }) => logOrigin(settings.publicOrigin, epoch) === origin)
  const log = own !== undefined && index < own.checkpointSize ? own : head
  const [checkpoint, size] =
    index < log.cosignedSize
      ? [log.cosigned, log.cosignedSize]
      : [log.checkpoint, log.checkpointSize]
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
