import type { SessionId } from '@bonded/contract'

/**
 * The latest event of each session that this node has committed and published itself, for as long
 * as a read can find it. A read whose snapshot is taken after the record contains the event, or an
 * earlier read has: so a record lasts until the end of the first read that begins after it.
 */
export class OwnChanges {
  #recorded = new Map<SessionId, number>()
  /** Recorded before the current read began. */
  #before: ReadonlyMap<SessionId, number> = new Map()

  record(sessionId: SessionId, seq: number): void {
    this.#recorded.set(sessionId, Math.max(seq, this.#recorded.get(sessionId) ?? 0))
  }

  /** Whether this node has published the event, or a later one of the same session. */
  has(sessionId: SessionId, seq: number): boolean {
    const latest = Math.max(this.#recorded.get(sessionId) ?? 0, this.#before.get(sessionId) ?? 0)
    return latest >= seq
  }

  /** Reads run one after another. */
  beginRead(): void {
    this.#before = this.#recorded
    this.#recorded = new Map()
  }

  /** @param succeeded whether the next read starts where this one ended */
  endRead(succeeded: boolean): void {
    const before = this.#before
    this.#before = new Map()
    if (!succeeded) for (const [sessionId, seq] of before) this.record(sessionId, seq)
  }
}
