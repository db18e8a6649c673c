/** Milliseconds since the epoch. */
export type Instant = number

/**
 * `sandbox` for keys that a test root or a development service certified, and for phones without a
 * verified boot. The private key of a test root may be public.
 */
export type Environment = 'production' | 'sandbox'
