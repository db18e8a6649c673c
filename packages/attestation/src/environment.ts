/** Milliseconds since the epoch. */
export type Instant = number

/**
 * `sandbox` for what a test root or a development service has certified, and for phones whose boot
 * state shows nothing: anyone may hold the private key of a test root.
 */
export type Environment = 'production' | 'sandbox'
