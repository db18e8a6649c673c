import type { Tile } from '../../domain/merkle.ts'
import type { Instant } from '../../domain/session.ts'
import type { Work } from '../work.ts'

/** The log, and its latest signed checkpoint. */
export interface LogHead {
  /** How many entries it has. */
  readonly size: number
  /** The latest checkpoint; empty before the first one. */
  readonly checkpoint: string
  /** How many entries that checkpoint covers. */
  readonly checkpointSize: number
  /** The latest checkpoint with cosignatures of witnesses; empty before the first one. */
  readonly cosigned: string
  /** How many entries it covers. */
  readonly cosignedSize: number
  /** When its cosignatures were stored. */
  readonly cosignedAt: Instant
  /** When a node may ask the witnesses next. */
  readonly witnessDueAt: Instant
}

/** A tile with its entries: those of level 0 have them. */
export interface StoredTile extends Tile {
  readonly entries: Uint8Array | null
}

/** The append-only log of receipts: its head, and the tiles of its tree. */
export interface ReceiptLogTable {
  /** Reads the head. A unit that writes holds its lock until the end. */
  head(): Work<LogHead>
  tile(level: number, index: number): Work<StoredTile | undefined>
  /**
   * Stores the tiles of an append, and the new size. Of two appends at once exactly one succeeds.
   *
   * @returns false if the log has another size by now; nothing was written
   */
  append(change: {
    readonly before: number
    readonly size: number
    readonly tiles: readonly StoredTile[]
    readonly now: Instant
  }): Work<boolean>
  /** Stores a checkpoint, unless a later one is stored. */
  storeCheckpoint(checkpoint: string, size: number): Work<void>
  /** Of the nodes that want to ask the witnesses, one succeeds: it asks until the instant. */
  claimWitnesses(at: { readonly now: Instant; readonly until: Instant }): Work<boolean>
  /** Stores a checkpoint with its cosignatures, unless one of more entries is stored. */
  storeCosigned(
    checkpoint: string,
    of: { readonly size: number; readonly now: Instant },
  ): Work<void>
  /** Deletes full tiles of entries that were all appended by the instant. @returns how many */
  prune(appendedBy: Instant, limit: number): Work<number>
}
