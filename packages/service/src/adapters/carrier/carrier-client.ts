import { randomUUID } from 'node:crypto'
import type { CarrierQuery } from '../../ports/carrier.ts'
import type { Clock } from '../../ports/clock.ts'
import { type Answer, learned, unknown } from './answer.ts'
import { type Circuit, circuit } from './circuit.ts'
import type { Deadline } from './deadline.ts'
import { exchange } from './exchange.ts'
import { type TtlCache, ttlCache } from './ttl-cache.ts'
import { type OpenIdSettings, openIdOf } from './openid.ts'
import {
  type DeviceStatus,
  deviceStatus,
  membersOf,
  numberVerified,
  QUESTIONS,
  type Question,
  swapped,
  swappedSince,
} from './questions.ts'

/** A minute: a phone that steps up asks again, and a swap that happened meanwhile is seen by the next session. */
const SWAP_KEPT_MS = 60_000
/** A token that is about to run out is not worth a call that is refused. */
const TOKEN_MARGIN_MS = 10_000

/** A carrier as the configuration describes it. */
export interface CarrierSettings extends OpenIdSettings {
  readonly name: string
  readonly apiRoot: string
  /** Whose numbers it is asked about: the beginning in E.164. */
  readonly numberPrefixes: readonly string[]
  readonly simSwapMaxAgeHours: number
}

export interface CarrierAnswers {
  readonly numberVerified: Answer<boolean>
  readonly simSwapped: Answer<boolean>
  readonly deviceStatus: Answer<DeviceStatus>
}

/** One carrier, with all that is remembered of it. Nothing of it is shared with another. */
export interface Carrier {
  readonly settings: CarrierSettings
  /** All three questions at once; one that fails takes none of the others along. */
  ask(
    question: { number: string; signal: CarrierQuery['signal'] },
    deadline: Deadline,
  ): Promise<CarrierAnswers>
}

export function carrierClient(
  settings: CarrierSettings,
  { clock, nameless }: { clock: Clock; nameless: (text: string) => string },
): Carrier {
  const openId = openIdOf(settings, clock)
  const tokens = ttlCache<string>(clock)
  const swaps = ttlCache<boolean>(clock)
  const circuits = { number: circuit(clock), swap: circuit(clock), status: circuit(clock) }

  /** A question under a token; with a kept token that is refused, once more under a new one. */
  const put = async (
    question: Question,
    { subject, body, keep }: Putting,
    deadline: Deadline,
  ): Promise<Answer<Readonly<Record<string, unknown>>>> => {
    const kept = keep ? nameless(`${subject} ${question.scope}`) : undefined
    const known = kept && tokens.get(kept)
    if (known !== undefined) {
      const answer = await call(known, question, body, deadline)
      if (answer.known || answer.why !== 'unauthenticated') return answer
      if (kept !== undefined) tokens.delete(kept)
    }
    const fresh = await openId.token({ subject, scope: question.scope }, deadline)
    if (!fresh.known) return fresh
    if (kept !== undefined)
      tokens.set(kept, fresh.value.value, fresh.value.expiresInMs - TOKEN_MARGIN_MS)
    return call(fresh.value.value, question, body, deadline)
  }

  const call = async (token: string, { path }: Question, body: object, deadline: Deadline) => {
    const headers = { authorization: `Bearer ${token}`, 'x-correlator': randomUUID() }
    const reply = await exchange({ url: settings.apiRoot + path, json: body, headers }, deadline)
    return reply.known ? membersOf(reply.value) : reply
  }

  /** The subscriber's own phone must have brought the token: nothing else shows that the number is this phone's. */
  const askNumber = async (
    number: string,
    operatorToken: string,
    deadline: Deadline,
  ): Promise<Answer<boolean>> => {
    const subject = `operatortoken:${operatorToken}`
    return then(
      await put(
        QUESTIONS.verifyNumber,
        { subject, body: { phoneNumber: number }, keep: false },
        deadline,
      ),
      numberVerified,
    )
  }

  const askSwap = async (number: string, deadline: Deadline): Promise<Answer<boolean>> => {
    const { simSwapMaxAgeHours: maxAgeHours } = settings
    const subject = `tel:${number}`
    const checked = then(
      await put(
        QUESTIONS.checkSwap,
        { subject, body: { maxAge: maxAgeHours }, keep: true },
        deadline,
      ),
      swapped,
    )
    if (checked.known || checked.why !== 'out_of_range') return checked
    const dated = await put(QUESTIONS.swapDate, { subject, body: {}, keep: true }, deadline)
    return then(dated, (members) => swappedSince(members, { maxAgeHours, now: clock.now() }))
  }

  const askStatus = async (number: string, deadline: Deadline): Promise<Answer<DeviceStatus>> =>
    then(
      await put(
        QUESTIONS.reachability,
        { subject: `tel:${number}`, body: {}, keep: true },
        deadline,
      ),
      (members) => deviceStatus(members, clock.now()),
    )

  return {
    settings,
    async ask({ number, signal }, deadline) {
      const operatorToken = signal?.operator_token
      const [verified, swap, status] = await Promise.all([
        operatorToken === undefined
          ? unknown('operator_token_missing')
          : guarded(circuits.number, deadline, () => askNumber(number, operatorToken, deadline)),
        remembered(swaps, nameless(number), () =>
          guarded(circuits.swap, deadline, () => askSwap(number, deadline)),
        ),
        guarded(circuits.status, deadline, () => askStatus(number, deadline)),
      ])
      return { numberVerified: verified, simSwapped: swap, deviceStatus: status }
    },
  }
}

interface Putting {
  readonly subject: string
  readonly body: object
  /** Whether the token may be used again. */
  readonly keep: boolean
}

function then<A, B>(answer: Answer<A>, read: (value: A) => Answer<B>): Answer<B> {
  return answer.known ? read(answer.value) : answer
}

async function guarded<T>(
  guard: Circuit,
  deadline: Deadline,
  ask: () => Promise<Answer<T>>,
): Promise<Answer<T>> {
  if (!guard.admits()) return unknown('circuit_open')
  const answer = await deadline.meet(ask())
  guard.heard(answer)
  return answer
}

/** Only what was learned is remembered, never that nothing was. */
async function remembered(
  kept: TtlCache<boolean>,
  name: string,
  ask: () => Promise<Answer<boolean>>,
): Promise<Answer<boolean>> {
  const known = kept.get(name)
  if (known !== undefined) return learned(known)
  const answer = await ask()
  if (answer.known) kept.set(name, answer.value, SWAP_KEPT_MS)
  return answer
}
