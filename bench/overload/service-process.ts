import { systemClock } from '../../packages/service/src/adapters/clock/system-clock.ts'
import { createAttestation } from '../../packages/service/src/adapters/attestation/attestation.ts'
import { NO_APPS } from '../../packages/service/src/adapters/attestation/trusted-phones.ts'
import { BENCH_ORIGIN, serveBench } from '../bench-service.ts'
import { measureServer } from './server-measures.ts'

/** The service for two tenants, one of which floods it. Rate limits count but reject nothing. */
await serveBench({
  clock: systemClock,
  attestation: createAttestation(NO_APPS, { origin: BENCH_ORIGIN, clock: systemClock, fetch }),
  workflow: { name: 'w', actions: ['a'] },
  tenants: 2,
  measures: measureServer(),
})
