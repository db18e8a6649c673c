/** What a channel needs of a session. */
export interface WatchedSession {
  readonly id: string
  readonly watch_token: string
}

/**
 * For the process with the phones. `prepare` takes sessions up to the attestation, on all nodes in
 * turns. `bond` sends the attestations to the first node, at a fixed rate.
 */
export interface PhonesTask {
  readonly step: 'prepare' | 'bond'
  readonly ports: readonly number[]
  readonly credential: string
  readonly sessions: number
  readonly rate: number
}

/** For each session, in the milliseconds of `sharedNowMs`. */
export interface Attested {
  readonly sentAt: readonly number[]
  readonly repliedAt: readonly number[]
  /** Calls that the service shed. Any such call spoils the figures. */
  readonly shed: number
}

/**
 * For the process with the channels. `open` opens one for each session, and `bonded` waits until
 * each of them has had the frame of its bond.
 */
export interface WatchTask {
  readonly step: 'open' | 'bonded'
  readonly port: number
  readonly sessions: readonly WatchedSession[]
}

/** When the frame of its bond reached each session's channel; null if it never came. */
export interface Watched {
  readonly framedAt: readonly (number | null)[]
}
