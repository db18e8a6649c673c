import type { Ready } from '../process.ts'

/** Sizes on the wire, learned from the service, so that the peer sends as many bytes. */
export interface Sizes {
  readonly hello: number
  readonly attestation: number
  readonly frame: number
  readonly reply: number
}

/**
 * `sessions` creates sessions, and `prepare` also takes them up to the attestation. `open` opens
 * channels up to a count, `close` closes all, and `bond` bonds all open sessions within a second.
 * `frames` counts the frames since the last count. With `sizes` the server is bare ws, which has no
 * sessions.
 */
export interface ChannelTask extends Ready {
  readonly step: 'sessions' | 'open' | 'close' | 'prepare' | 'bond' | 'frames'
  readonly channels: number
  readonly sizes?: Sizes
  /**
   * The source address of the channels. A pair of addresses has about 28,000 ports, so several
   * processes use one each.
   */
  readonly source: string
}

/** Milliseconds from the moment the load process sent the attestation. */
export interface Bonded {
  readonly frameMs: readonly number[]
  readonly replyMs: readonly number[]
  readonly sizes: Sizes
}

/** The frames of all channels of a load process since the last count. */
export interface FrameCount {
  readonly frames: number
  readonly bytes: number
}

/** The path of a POST that makes bare ws send frames at the service's interval. */
export const HEARTBEATS = '/heartbeats'
