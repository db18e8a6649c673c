import type { ClosingReason } from '../../domain/receipt-log.ts'
import type { Tile } from '../../domain/merkle.ts'
import type { Instant } from '../../domain/session.ts'
import type { Work } from '../work.ts'

/** The log, and its latest signed checkpoint. */
export interface LogHead {
  /** Part of the log's name; empty for the first log of a service. */
  readonly epoch: string
  /** When the log began after another one was closed; 0 for the first log. */
  readonly begunAt: Instant
  /** The database server of the latest append; empty if unknown. */
  readonly server: string
  /** Whether a standby had that append before it was acknowledged. */
  readonly isSynchronous: boolean
  /** Why no node signs, until the log is closed; empty if nodes may sign. */
  readonly refused: string
  /** How many entries it has. */
  readonly size: number
  /** How many of them are entries of the audit log. */
  readonly auditSize: number
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

/** A log that was closed because entries were lost, or may have been. */
export interface ClosedLog {
  readonly epoch: string
  /** The log that continues it. */
  readonly nextEpoch: string
  readonly checkpoint: string
  readonly checkpointSize: number
  readonly cosigned: string
  readonly cosignedSize: number
  readonly closedAt: Instant
  readonly reason: ClosingReason
  /** What the next log has signed about it; empty until then. */
  readonly statement: string
}

/** The append-only log of receipts: its head, and the tiles of its tree. */
export interface ReceiptLogTable {
  /**
   * The database server that the unit writes to: its cluster, a slash, and its timeline, which a
   * promotion changes. Empty if unknown, and for SQLite.
   */
  readonly server: string
  /** Reads the head. A unit that writes holds its lock until the end. */
  head(): Work<LogHead>
  tile(level: number, index: number): Work<StoredTile | undefined>
  /** The closed logs, in their order. */
  closed(): Work<readonly ClosedLog[]>
  /**
   * Closes the log as of its latest checkpoint, and begins one of another name with its entries.
   *
   * @returns false if another log has begun by now
   */
  close(change: {
    readonly epoch: string
    readonly nextEpoch: string
    readonly reason: ClosingReason
    readonly now: Instant
  }): Work<boolean>
  storeStatement(epoch: string, statement: string): Work<void>
  /** Stops every node from signing, unless another log has begun. */
  refuse(epoch: string, why: string): Work<void>
  /** Notes the server that the unit writes to, which continues the log. */
  noteServer(): Work<void>
  /**
   * Stores the tiles of an append, and the new size. Of two appends at once exactly one succeeds.
   *
   * @returns false if the log has another size by now; nothing was written
   */
  append(change: {
    readonly before: number
    readonly size: number
    readonly auditSize: number
    readonly tiles: readonly StoredTile[]
    readonly now: Instant
  }): Work<boolean>
  /**
   * Stores a checkpoint, unless a later one is stored, or the log was closed, or another server was
   * promoted since the append.
   */
  storeCheckpoint(
    checkpoint: string,
    of: { readonly epoch: string; readonly size: number },
  ): Work<void>
  /** Lets one of the nodes ask the witnesses until the instant, and no other. */
  claimWitnesses(at: { readonly now: Instant; readonly until: Instant }): Work<boolean>
  /**
   * Stores a checkpoint with its cosignatures, unless one of more entries is stored, or the log was
   * closed.
   */
  storeCosigned(
    checkpoint: string,
    of: { readonly epoch: string; readonly size: number; readonly now: Instant },
  ): Work<void>
  /** Deletes full tiles of entries that were all appended by the instant. @returns how many */
  prune(appendedBy: Instant, limit: number): Work<number>
}
