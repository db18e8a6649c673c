import { createHmac, randomBytes } from 'node:crypto'
import type { CarrierFinding } from '../../domain/evidence.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CarrierProvider, CarrierResult } from '../../ports/carrier.ts'
import { type Answer, unknown } from './answer.ts'
import { deadlineIn } from './deadline.ts'
import { noCarrier } from './none.ts'
import {
  type Carrier,
  type CarrierAnswers,
  type CarrierSettings,
  carrierClient,
} from './carrier-client.ts'

/** A person looks at the phone meanwhile. */
export const BUDGET_MS = 2_000

const SOURCE = 'camara'

/** Asks the carriers of the configuration through the CAMARA interfaces. */
export function camaraCarrier(
  settings: readonly CarrierSettings[],
  { clock }: { clock: Clock },
): CarrierProvider {
  // Of this process only: what is remembered under it dies with it.
  const key = randomBytes(32)
  const nameless = (text: string) => createHmac('sha256', key).update(text).digest('base64url')
  const carriers = settings.map((carrier) => carrierClient(carrier, { clock, nameless }))
  return {
    async check(question) {
      const number = question.phoneNumber?.reveal()
      if (number === undefined) return noCarrier.check(question)
      const carrier = carrierFor(carriers, number)
      if (carrier === undefined) return verdictOf(NOBODY)
      using deadline = deadlineIn(clock, BUDGET_MS)
      return verdictOf(await carrier.ask({ number, signal: question.signal }, deadline))
    },
  }
}

const NOBODY: CarrierAnswers = {
  numberVerified: unknown('no_operator'),
  simSwapped: unknown('no_operator'),
  deviceStatus: unknown('no_operator'),
}

/** The one with the longest beginning in common: a smaller carrier's range lies within a country's. */
function carrierFor(carriers: readonly Carrier[], number: string): Carrier | undefined {
  const matches = carriers.flatMap((carrier) =>
    carrier.settings.numberPrefixes
      .filter((prefix) => number.startsWith(prefix))
      .map((prefix) => ({ carrier, length: prefix.length })),
  )
  return matches.sort((one, other) => other.length - one.length)[0]?.carrier
}

/** What is not known is judged on the safe side: not verified, swapped, unknown (protocol 7). */
function verdictOf({ numberVerified, simSwapped, deviceStatus }: CarrierAnswers): CarrierResult {
  const finding: CarrierFinding = {
    device_status: deviceStatus.known ? deviceStatus.value : 'unknown',
    number_verified: numberVerified.known && numberVerified.value,
    sim_swap_recent: !simSwapped.known || simSwapped.value,
    source: SOURCE,
  }
  const asked: readonly (readonly [string, Answer<unknown>])[] = [
    ['number_verification', numberVerified],
    ['sim_swap', simSwapped],
    ['device_status', deviceStatus],
  ]
  const note = asked
    .flatMap(([name, answer]) => (answer.known ? [] : [`${name}:${answer.why}`]))
    .join(' ')
  return note === '' ? { finding } : { finding, note }
}
