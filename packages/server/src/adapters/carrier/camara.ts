import { createHmac, randomBytes } from 'node:crypto'
import type { CarrierFinding } from '@bonded/core/domain/evidence'
import type { Clock } from '@bonded/core/ports/clock'
import type { CarrierProvider, CarrierResult } from '@bonded/core/ports/carrier'
import { type CarrierResponse, unknown, type UnknownReason } from './carrier-response.ts'
import { deadlineIn } from './deadline.ts'
import { noCarrier } from './none.ts'
import {
  type Carrier,
  type CarrierResponses,
  type CarrierSettings,
  carrierClient,
} from './carrier-client.ts'

/** The time for all checks of one request, during which the user waits at the phone. */
export const BUDGET_MS = 2_000

const SOURCE = 'camara'

/** Queries the configured carriers through the CAMARA APIs. */
export function camaraCarrier(
  settings: readonly CarrierSettings[],
  { clock }: { clock: Clock },
): CarrierProvider {
  // A key of this process alone, so that its cache keys mean nothing elsewhere.
  const key = randomBytes(32)
  const pseudonym = (text: string) => createHmac('sha256', key).update(text).digest('base64url')
  const carriers = settings.map((carrier) => carrierClient(carrier, { clock, pseudonym }))
  return {
    async check(question) {
      const number = question.phoneNumber?.reveal()
      if (number === undefined) return noCarrier.check(question)
      const carrier = carrierFor(carriers, number)
      if (carrier === undefined) return verdictOf(NO_CARRIER)
      using deadline = deadlineIn(clock, BUDGET_MS)
      return verdictOf(await carrier.ask({ number, signal: question.signal }, deadline))
    },
  }
}

const NO_CARRIER: CarrierResponses = {
  numberVerified: unknown('no_operator'),
  simSwapped: unknown('no_operator'),
  deviceStatus: unknown('no_operator'),
}

/**
 * The carrier with the longest matching prefix: a small carrier's range is inside its country's.
 */
function carrierFor(carriers: readonly Carrier[], number: string): Carrier | undefined {
  const matches = carriers.flatMap((carrier) =>
    carrier.settings.numberPrefixes
      .filter((prefix) => number.startsWith(prefix))
      .map((prefix) => ({ carrier, length: prefix.length })),
  )
  return matches.sort((one, other) => other.length - one.length)[0]?.carrier
}

/** What is not about one user: the carrier fails, or rejects the credentials of the service. */
const FAILURES: readonly UnknownReason[] = [
  'circuit_open',
  'timeout',
  'unreachable',
  'server_error',
  'rate_limited',
  'malformed_answer',
  'client_refused',
]

/** An unknown result becomes its safe value: not verified, swapped, unknown (protocol 7). */
function verdictOf({ numberVerified, simSwapped, deviceStatus }: CarrierResponses): CarrierResult {
  const finding: CarrierFinding = {
    device_status: deviceStatus.known ? deviceStatus.value : 'unknown',
    number_verified: numberVerified.known && numberVerified.value,
    sim_swap_recent: !simSwapped.known || simSwapped.value,
    source: SOURCE,
  }
  const responses: readonly (readonly [string, CarrierResponse<unknown>])[] = [
    ['number_verification', numberVerified],
    ['sim_swap', simSwapped],
    ['device_status', deviceStatus],
  ]
  const note = responses
    .flatMap(([name, response]) => (response.known ? [] : [`${name}:${response.reason}`]))
    .join(' ')
  const isUnavailable = responses.some(
    ([, response]) => !response.known && FAILURES.includes(response.reason),
  )
  return { finding, ...(note && { note }), ...(isUnavailable && { isUnavailable }) }
}
