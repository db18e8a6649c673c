import { systemClock } from '../packages/store/src/clock/system-clock.ts'
import { createAttestation } from '../packages/server/src/adapters/attestation/attestation.ts'
import { NO_APPS } from '../packages/server/src/adapters/attestation/phone-trust.ts'
import { BENCH_ORIGIN, serveBench } from './bench-service.ts'

/** The service in its own process, for software phones. */
await serveBench({
  clock: systemClock,
  attestation: createAttestation(NO_APPS, { origin: BENCH_ORIGIN, clock: systemClock, fetch }),
  workflow: { name: 'w', actions: ['a'] },
})
