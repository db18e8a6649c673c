/** The clock of the gate. Tests pass one that they advance, so that no test sleeps. */
export interface GateClock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Resolves after this many milliseconds. */
  sleep(ms: number): Promise<void>
  /** A signal that aborts after this many milliseconds: the timeout of one attempt. */
  timeout(ms: number): AbortSignal
}

/**
 * The machine's own clock: the default of `createGate`.
 *
 * @example systemClock.now() // 1795253400000
 */
export const systemClock: GateClock = {
  now: () => Date.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  timeout: (ms) => AbortSignal.timeout(ms),
}

/** Returns the requested number of random bytes. */
export type RandomBytes = (length: number) => Uint8Array

/**
 * Random bytes of the platform: the default of `createGate`.
 *
 * @example systemRandom(16).length // 16
 */
export const systemRandom: RandomBytes = (length) => crypto.getRandomValues(new Uint8Array(length))
