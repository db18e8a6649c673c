import { Secret } from '@bonded/contract'
import { camaraCarrier } from '../../../../src/adapters/carrier/camara.ts'
import type { CarrierSettings } from '../../../../src/adapters/carrier/carrier-client.ts'
import { startFakeCarrier, type Subscriber } from './fake-carrier.ts'
import { WatchedClock } from './watched-clock.ts'

export const NUMBER = '+34600000001'
export const SIM_TOKEN = 'sim-token'

export const WELL = {
  number_verified: true,
  sim_swap_recent: false,
  device_status: 'active',
  source: 'camara',
}
export const UNKNOWN = {
  number_verified: false,
  sim_swap_recent: true,
  device_status: 'unknown',
  source: 'camara',
}

const OUTAGES = ['circuit_open', 'malformed_answer', 'rate_limited', 'server_error', 'timeout']
const OF_THE_CARRIER = [...OUTAGES, 'client_refused', 'unreachable']

/** What a result with this note says besides: whether it is not about one user. */
export const blame = (note: string) =>
  OF_THE_CARRIER.some((reason) => note.includes(`:${reason}`)) ? { isUnavailable: true } : {}

/** A fake carrier with one subscriber, the carrier token of its SIM, and the adapter under test. */
export async function scene(subscriber: Subscriber = {}, settings: Partial<CarrierSettings> = {}) {
  const clock = new WatchedClock()
  const fakeCarrier = await startFakeCarrier({ ...settings, clock })
  fakeCarrier.subscribers.set(NUMBER, subscriber)
  fakeCarrier.sims.set(SIM_TOKEN, NUMBER)
  const carrier = camaraCarrier([fakeCarrier.settings], { clock })
  return {
    clock,
    fakeCarrier,
    carrier,
    check: (number = NUMBER) =>
      carrier.check({ phoneNumber: new Secret(number), signal: { operator_token: SIM_TOKEN } }),
    [Symbol.asyncDispose]: () => fakeCarrier[Symbol.asyncDispose](),
  }
}
