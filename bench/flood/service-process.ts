import { DEFAULT_CONNECTION_LIMITS } from '../../packages/core/src/domain/connection-limits.ts'
import { parseLimits, USUAL_LIMITS } from '../../packages/core/src/domain/limits.ts'
import { serveBench } from '../bench-service.ts'

/**
 * The service as shipped, except for the create limit: the benchmark creates more than 600 sessions
 * a minute.
 */
await serveBench({
  limits: { ...USUAL_LIMITS, ...parseLimits('create=600000') },
  connections: DEFAULT_CONNECTION_LIMITS,
})
