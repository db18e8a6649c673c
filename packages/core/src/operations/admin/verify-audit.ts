import { hex, markedEntries } from '../../domain/audit.ts'
import { edgeTiles, MerkleTree, type Tile, TILE_WIDTH } from '../../domain/merkle.ts'
import { base64, checkpointFacts, logOrigin } from '../../domain/receipt-log.ts'
import type { LogHead } from '../../ports/tables/receipt-log-table.ts'
import { readTiles } from '../receipt/read-tiles.ts'
import type { Service } from '../service.ts'
import { AuditRows } from './audit-rows.ts'

const LEAF_BYTES = 32

/** What a verification of the audit log has found. */
export interface AuditReport {
  readonly entries: number
  /** How many of them have reached the end of their retention. */
  readonly purged: number
  /** How many of them the log of receipts covers. The others wait for its next checkpoint. */
  readonly logged: number
  /** The log of receipts; undefined if it has no leaves. */
  readonly log: { readonly origin: string; readonly size: number } | undefined
  /** Empty if the audit log is what the log of receipts and the given checkpoint cover. */
  readonly problems: readonly string[]
}

/** The root that the first leaves of the log must have. */
interface KnownRoot {
  readonly size: number
  readonly root: string
  readonly of: string
}

/**
 * Compares the audit log with the log of receipts, and that with its latest checkpoint and with one
 * that was stored outside. It reads all of both.
 */
export async function verifyAudit(
  service: Service,
  outside: string | undefined,
): Promise<AuditReport> {
  const problems: string[] = []
  const head = await service.store.read(({ receiptLog }) => receiptLog.head())
  const roots = [
    ...rootOf(head.checkpoint, 'the latest checkpoint in the database'),
    ...(await outsideRoot(service, { head, outside, problems })),
  ]
  const rows = new AuditRows(service, problems)
  const logged = await compareWithLog(service, { head, roots, rows, problems })
  if (logged !== head.auditSize)
    problems.push(
      `The log of receipts states ${logged} audit entries, and the database ${head.auditSize}.`,
    )
  await rows.readTo(Infinity)
  const { entries, purged } = rows
  const origin = logOrigin(service.settings.publicOrigin, head.epoch)
  return {
    entries,
    purged,
    logged,
    log: head.size === 0 ? undefined : { origin, size: head.size },
    problems,
  }
}

function rootOf(checkpoint: string, of: string): readonly KnownRoot[] {
  const facts = checkpointFacts(checkpoint)
  return facts === undefined ? [] : [{ ...facts, of }]
}

async function outsideRoot(
  { settings, store }: Service,
  given: {
    readonly head: LogHead
    readonly outside: string | undefined
    readonly problems: string[]
  },
): Promise<readonly KnownRoot[]> {
  const { head, outside, problems } = given
  if (outside === undefined) return []
  const facts = checkpointFacts(outside)
  if (facts === undefined) {
    problems.push('The given file is not a checkpoint.')
    return []
  }
  const { origin, size } = facts
  const closed = await store.read(({ receiptLog }) => receiptLog.closed())
  const own = closed.find(({ epoch }) => logOrigin(settings.publicOrigin, epoch) === origin)
  if (own !== undefined && size > own.checkpointSize)
    problems.push(
      `The given checkpoint has ${size} leaves. The service closed that log with ${own.checkpointSize} (${own.reason}), and has lost the others, with the audit entries among them.`,
    )
  else if (own === undefined && origin !== logOrigin(settings.publicOrigin, head.epoch))
    problems.push(`The given checkpoint is of ${origin}, which is not a log of this database.`)
  else if (size > head.size)
    problems.push(
      `The given checkpoint has ${size} leaves, and the log of receipts ${head.size}: its end is missing.`,
    )
  else return rootOf(outside, 'the given checkpoint')
  return []
}

/**
 * Reads the log to its end, and compares each entry before a marker. @returns how many audit
 * entries the log states
 */
async function compareWithLog(
  service: Service,
  of: {
    readonly head: LogHead
    readonly roots: readonly KnownRoot[]
    readonly rows: AuditRows
    readonly problems: string[]
  },
): Promise<number> {
  const { head, roots, rows, problems } = of
  const { sha256Bytes: sha256 } = service.keys
  let stated = 0
  let before: Uint8Array | undefined
  let edge: readonly Tile[] | undefined
  for (let size = 0; size < head.size; size += TILE_WIDTH) {
    const leaves = await leavesAt(service, size, head)
    // The retention of the log deletes its first tiles, never the last one.
    if (leaves.length === 0 && edge === undefined && size + TILE_WIDTH < head.size) continue
    if (leaves.length === 0) {
      problems.push(`The log of receipts lacks its leaves from ${size} on.`)
      break
    }
    edge ??= await service.store.read(({ receiptLog }) => readTiles(receiptLog, edgeTiles(size)))
    const tree = new MerkleTree(sha256, size, edge)
    for (const leaf of leaves) {
      const changed = tree.append([leaf])
      edge = edgeOf(tree.size, [...changed, ...edge])
      for (const known of roots.filter((root) => root.size === tree.size))
        if (base64(tree.root()) !== known.root)
          problems.push(`The log of receipts is not the one of ${known.of}.`)
      const marked = markedEntries(leaf)
      const hash = marked && (await rows.readTo(marked))
      if (hash && before && hash !== hex(before))
        problems.push(`Entry ${marked} is not what the log of receipts has.`)
      stated = marked ?? stated
      before = leaf
    }
  }
  return stated
}

/** The tiles that the next append and the root need. */
function edgeOf(size: number, tiles: readonly Tile[]): readonly Tile[] {
  return edgeTiles(size).flatMap(
    (edge) => tiles.find(({ level, index }) => level === edge.level && index === edge.index) ?? [],
  )
}

/** The leaves from one to the end of its tile, or of the log. */
async function leavesAt(
  { store }: Service,
  from: number,
  { size }: LogHead,
): Promise<readonly Uint8Array[]> {
  const tile = await store.read(({ receiptLog }) => receiptLog.tile(0, from / TILE_WIDTH))
  const entries = tile?.entries ?? new Uint8Array()
  const count = Math.min(Math.floor(entries.length / LEAF_BYTES), size - from)
  return Array.from({ length: count }, (_, index) =>
    entries.slice(index * LEAF_BYTES, (index + 1) * LEAF_BYTES),
  )
}
