import { systemClock } from '../../packages/store/src/clock/system-clock.ts'
import { createAttestation } from '../../packages/server/src/adapters/attestation/attestation.ts'
import { NO_APPS } from '../../packages/server/src/adapters/attestation/phone-trust.ts'
import { DEFAULT_CONNECTION_LIMITS } from '../../packages/core/src/domain/connection-limits.ts'
import { parseLimits, USUAL_LIMITS } from '../../packages/core/src/domain/limits.ts'
import { BENCH_ORIGIN, serveBench } from '../bench-service.ts'

/**
 * The service as shipped, except for the create limit: the benchmark creates more than 600 sessions
 * a minute.
 */
await serveBench({
  clock: systemClock,
  attestation: createAttestation(NO_APPS, { origin: BENCH_ORIGIN, clock: systemClock, fetch }),
  workflow: { name: 'w', actions: ['a'] },
  limits: { ...USUAL_LIMITS, ...parseLimits('create=600000') },
  connections: DEFAULT_CONNECTION_LIMITS,
})
