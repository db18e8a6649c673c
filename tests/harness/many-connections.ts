import {
  type ConnectionLimits,
  DEFAULT_CONNECTION_LIMITS,
} from '../../packages/core/src/domain/connection-limits.ts'

/** Limits for tests, whose connections all come from one address. */
export const MANY_CONNECTIONS: ConnectionLimits = {
  ...DEFAULT_CONNECTION_LIMITS,
  total: 100_000,
  network: 100_000,
}
