import {
  createPhone,
  type Phone,
  type PhoneClock,
  type PhoneOptions,
  type PhoneSignals,
} from '../src/index.ts'
import { openEnrollment } from '../../simulator/src/enrollment.ts'
import { sha256 } from '../../simulator/src/software-key.ts'
import { memoryStateStore } from '../../simulator/src/state-file.ts'
import { jumpingClock } from './clocks.ts'
import { type FakeService, fakeService, ORIGIN } from './fake-service.ts'

export interface Harness<C extends PhoneClock> {
  readonly service: FakeService
  readonly clock: C
  readonly phone: Phone
  readonly strong: () => PhoneSignals
  readonly weak: () => PhoneSignals
}

/** A phone and a service. Their clocks show different times, as they do in life. */
export function harness(): Harness<ReturnType<typeof jumpingClock>>
export function harness<C extends PhoneClock>(
  options: Partial<PhoneOptions> & { clock: C },
): Harness<C>
export function harness(options: Partial<PhoneOptions> = {}): Harness<PhoneClock> {
  const service = fakeService()
  const clock = options.clock ?? jumpingClock(7_000)
  const { signer, store } = openEnrollment(memoryStateStore(), ORIGIN)
  const phone = createPhone({
    origin: ORIGIN,
    signer,
    store,
    sha256,
    fetch: service.fetch,
    ...options,
    clock,
  })
  return {
    service,
    clock,
    phone,
    strong: () => ({
      local_auth: { result: 'verified', method: 'biometric', at_ms: clock.now() },
      sensor_continuity: {
        window_ms: 1_000,
        features: [{ t_ms: 0, acc_var: 3, gyro_var: 1, handling: 1 }],
      },
    }),
    weak: () => ({ local_auth: { result: 'failed', method: 'none', at_ms: clock.now() } }),
  }
}

/** Lets everything run that waits for nothing but a turn of the loop. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
