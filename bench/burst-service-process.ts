import { systemClock } from '../packages/store/src/clock/system-clock.ts'
import { asTestRoots, type TestRoots } from '../tests/harness/attested-phones.ts'
import { TestClock } from '../tests/harness/test-clock.ts'
import type { Clock } from '../packages/core/src/ports/clock.ts'
import { serveBench } from './bench-service.ts'

/** The keys and issuers that the service trusts, from the parent's first message. */
export interface TrustedIssuers {
  readonly phones: TestRoots
  /** The certificates of the simulated state that issues the passports: DER, base64. */
  readonly countryCertificate: string
}

/** The service in its own process, for phones and passports under test roots. */
process.once('message', ({ phones, countryCertificate }: TrustedIssuers) => {
  const clock = clockFromTestTime()
  void serveBench({
    clock,
    attestation: asTestRoots(clock, phones),
    passportTrust: { production: [], sandbox: [Buffer.from(countryCertificate, 'base64')] },
    workflow: { name: 'w', actions: ['a'], passport: 'optional' },
  })
})

/** Runs at the machine's speed, from the time at which the test phones are certified. */
function clockFromTestTime(): Clock {
  const behindMs = systemClock.now() - new TestClock().now()
  return {
    now: () => systemClock.now() - behindMs,
    elapsed: () => systemClock.elapsed(),
    schedule: (at, callback) => systemClock.schedule(at + behindMs, callback),
  }
}
