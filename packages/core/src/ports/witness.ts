/** What a witness answered to a checkpoint. */
export type WitnessAnswer =
  | {
      /** The line of its cosignature, which was verified. */
      readonly line: string
    }
  | {
      /** It has cosigned another size of the log, from which it wants the proof. */
      readonly size: number
    }
  | {
      /** Why it did not cosign, for the operator. */
      readonly problem: string
    }

/** A checkpoint, and the proof that it continues one that the witness has cosigned. */
export interface WitnessRequest {
  /** The text and the signature of the log. */
  readonly checkpoint: string
  /** How many entries the earlier checkpoint covers; 0 for none. */
  readonly old: number
  readonly proof: readonly Uint8Array[]
}

/** A witness of the log, which the operator has configured (c2sp.org/tlog-witness). */
export interface Witness {
  readonly name: string
  /** Whether a line of a note has the name and the key id of this witness. */
  isLine(line: string): boolean
  /**
   * Asks it to cosign a checkpoint. Never rejects, and ends within bounded time and memory.
   *
   * @param stop ends the request
   */
  cosign(request: WitnessRequest, stop: AbortSignal): Promise<WitnessAnswer>
}

/** No witness has cosigned. The message names the problem of each. */
export class WitnessError extends Error {
  readonly code = 'witnesses_failed'
  override readonly name = 'WitnessError'
}
