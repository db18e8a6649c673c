/**
 * The latest checkpoint that this node has signed or seen, outside of the database. A database that
 * was restored does not have the entries of a checkpoint that was published since its backup.
 */
export interface KeptCheckpoint {
  /**
   * @returns the checkpoint; empty if there is none
   * @throws {CheckpointError} if it cannot be read
   */
  read(): Promise<string>
  /**
   * Stores it durably in place of the one before.
   *
   * @throws {CheckpointError} if it could not be stored
   */
  store(checkpoint: string): Promise<void>
}

/** The checkpoint could not be read or stored. */
export class CheckpointError extends Error {
  readonly code = 'checkpoint_unavailable'
  override readonly name = 'CheckpointError'
}

/** The log does not continue the checkpoint that a node has kept. Its nodes sign nothing. */
export class LogRefused extends Error {
  readonly code = 'receipt_log_refused'
  override readonly name = 'LogRefused'
}
