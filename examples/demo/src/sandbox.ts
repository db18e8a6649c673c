/** The QR code that a page shows now. */
export interface ShownCode {
  readonly session_id: string
  /** Creation of the session, in milliseconds since the epoch. */
  readonly createdAtMs: number
  /** What the QR code contains now. */
  readonly link: string
  /** Whether a page has presented the watch token, so that the service knows its origin. */
  readonly isWatched: boolean
}

/** What the demo needs of the sandbox around it. */
export interface Sandbox {
  /**
   * The newest QR code that waits for a phone. Undefined if there is none. Rejects while the
   * service is stopped.
   */
  newestCode(): Promise<ShownCode | undefined>
  /** The state of a session now. Undefined while the service is stopped. */
  stateOf(sessionId: string): Promise<string | undefined>
  /** Whether the service is running. */
  isServiceRunning(): boolean
  stopService(): Promise<void>
  startService(): Promise<void>
}
