import { randomUUID } from 'node:crypto'
import type { CarrierQuery } from '@bonded/core/ports/carrier'
import type { Clock } from '@bonded/core/ports/clock'
import { type CarrierResponse, learned, unknown } from './carrier-response.ts'
import { type Circuit, circuit } from './circuit.ts'
import type { Deadline } from './deadline.ts'
import { exchange } from './exchange.ts'
import { type TtlCache, ttlCache } from './ttl-cache.ts'
import { type OpenIdSettings, openIdOf } from './openid.ts'
import {
  type DeviceStatus,
  deviceStatus,
  membersOf,
  booleanOf,
  CAMARA_CALLS,
  type CamaraCall,
  swappedSince,
} from './camara-calls.ts'

/**
 * Long enough for the repeated check of a step-up; short enough that the next session sees a swap.
 */
const SWAP_CACHED_MS = 60_000
/** A token with less time left is not reused, because the carrier could reject it. */
const TOKEN_MARGIN_MS = 10_000

/** A carrier as the configuration describes it. */
export interface CarrierSettings extends OpenIdSettings {
  readonly name: string
  readonly apiRoot: string
  /** The numbers of this carrier, as prefixes in E.164. */
  readonly numberPrefixes: readonly string[]
  readonly simSwapMaxAgeHours: number
}

export interface CarrierResponses {
  readonly numberVerified: CarrierResponse<boolean>
  readonly simSwapped: CarrierResponse<boolean>
  readonly deviceStatus: CarrierResponse<DeviceStatus>
}

/** The client of one carrier. Its tokens, caches and circuits are shared with no other carrier. */
export interface Carrier {
  readonly settings: CarrierSettings
  /** Runs all three checks at once. They fail independently of each other. */
  ask(
    question: { number: string; signal: CarrierQuery['signal'] },
    deadline: Deadline,
  ): Promise<CarrierResponses>
}

export function carrierClient(
  settings: CarrierSettings,
  { clock, pseudonym }: { clock: Clock; pseudonym: (text: string) => string },
): Carrier {
  const openId = openIdOf(settings, clock)
  const tokens = ttlCache<string>(clock)
  const swaps = ttlCache<boolean>(clock)
  const circuits = { number: circuit(clock), swap: circuit(clock), status: circuit(clock) }

  /** Calls the API with a token. If it rejects a cached token, calls once more with a new one. */
  const query = async <T>(
    camaraCall: CamaraCall,
    { subject, body = {}, cacheToken = true, read }: Query<T>,
    deadline: Deadline,
  ): Promise<CarrierResponse<T>> => {
    const call = async (token: string) => {
      const headers = { authorization: `Bearer ${token}`, 'x-correlator': randomUUID() }
      const url = settings.apiRoot + camaraCall.path
      const reply = await exchange({ url, json: body, headers }, deadline)
      if (!reply.known) return reply
      const members = membersOf(reply.value)
      return members.known ? read(members.value) : members
    }
    const cacheKey = cacheToken ? pseudonym(`${subject} ${camaraCall.scope}`) : undefined
    const cached = cacheKey && tokens.get(cacheKey)
    if (cached !== undefined) {
      const response = await call(cached)
      if (response.known || response.reason !== 'unauthenticated') return response
      if (cacheKey !== undefined) tokens.delete(cacheKey)
    }
    const fresh = await openId.token({ subject, scope: camaraCall.scope }, deadline)
    if (!fresh.known) return fresh
    if (cacheKey !== undefined)
      tokens.set(cacheKey, fresh.value.value, fresh.value.expiresInMs - TOKEN_MARGIN_MS)
    return call(fresh.value.value)
  }

  /** Requires a token that the phone obtained: only that ties the number to this phone. */
  const checkNumber = (phoneNumber: string, operatorToken: string, deadline: Deadline) => {
    const subject = `operatortoken:${operatorToken}`
    const asked = { subject, body: { phoneNumber }, cacheToken: false, read: readVerified }
    return query(CAMARA_CALLS.verifyNumber, asked, deadline)
  }

  const checkSwap = async (number: string, deadline: Deadline) => {
    const { simSwapMaxAgeHours: maxAgeHours } = settings
    const subject = `tel:${number}`
    const asked = { subject, body: { maxAge: maxAgeHours }, read: readSwapped }
    const checked = await query(CAMARA_CALLS.checkSwap, asked, deadline)
    if (checked.known || checked.reason !== 'out_of_range') return checked
    const read: Query<boolean>['read'] = (members) =>
      swappedSince(members, { maxAgeHours, now: clock.now() })
    return query(CAMARA_CALLS.swapDate, { subject, read }, deadline)
  }

  const checkStatus = (number: string, deadline: Deadline) => {
    const read: Query<DeviceStatus>['read'] = (members) => deviceStatus(members, clock.now())
    return query(CAMARA_CALLS.reachability, { subject: `tel:${number}`, read }, deadline)
  }

  return {
    settings,
    async ask({ number, signal }, deadline) {
      const operatorToken = signal?.operator_token
      const [verified, swap, status] = await Promise.all([
        operatorToken === undefined
          ? unknown('operator_token_missing')
          : guarded(circuits.number, deadline, () => checkNumber(number, operatorToken, deadline)),
        cached(swaps, pseudonym(number), () =>
          guarded(circuits.swap, deadline, () => checkSwap(number, deadline)),
        ),
        guarded(circuits.status, deadline, () => checkStatus(number, deadline)),
      ])
      return { numberVerified: verified, simSwapped: swap, deviceStatus: status }
    },
  }
}

const readVerified = ({ devicePhoneNumberVerified: verified }: Members) => booleanOf(verified)
const readSwapped = ({ swapped }: Members) => booleanOf(swapped)

interface Query<T> {
  readonly subject: string
  readonly body?: object
  /** Whether later calls may use the token. By default they may. */
  readonly cacheToken?: boolean
  readonly read: (members: Members) => CarrierResponse<T>
}

type Members = Readonly<Record<string, unknown>>

async function guarded<T>(
  guard: Circuit,
  deadline: Deadline,
  check: () => Promise<CarrierResponse<T>>,
): Promise<CarrierResponse<T>> {
  if (!guard.admits()) return unknown('circuit_open')
  const response = await deadline.race(check())
  guard.record(response)
  return response
}

/** Caches a known response. An unknown one is never cached, so the next check tries again. */
async function cached(
  cache: TtlCache<boolean>,
  key: string,
  check: () => Promise<CarrierResponse<boolean>>,
): Promise<CarrierResponse<boolean>> {
  const known = cache.get(key)
  if (known !== undefined) return learned(known)
  const response = await check()
  if (response.known) cache.set(key, response.value, SWAP_CACHED_MS)
  return response
}
