import { setTimeout as pause } from 'node:timers/promises'
import type { CreatedSession } from '@bonded/contract'
import { RUNTIME_FLAGS } from '../../packages/service/bin/runtime-flags.js'
import { type BenchReady, PAGE_ORIGIN } from '../bench-service.ts'
import { newKey, type TestPhone } from '../../tests/harness/phone.ts'
import { send } from '../http-calls.ts'
import { Child } from '../process.ts'
import { type JourneyTask, KINDS, type Success } from './journeys-process.ts'
import type { ShedAttackTask, ShedRequest } from './shed-attack-process.ts'

/**
 * Floods the service from one address with requests that name a tenant by what is public of its
 * credentials, and measures which part of that tenant's own calls succeeds, compared with the same
 * flood without a credential.
 */
const FLOOD_MS = Number(process.env.BENCH_FLOOD_MS ?? 15_000)
/** The journeys of the attacked tenant and of another one. */
const PER_SECOND = { attacked: 8, other: 4 }
const PHONES = 200
/** Journeys of users take about a second. They begin before the flood and end after it. */
const LEAD_MS = 2_000
/** Longer than a service remembers an overload. */
const REST_MS = 11_000
const MAX_LOSS = 0.03
const JUNK = { secret: 'x'.repeat(43), checksum: '0'.repeat(6) }
const SESSION = `sess_${'0'.repeat(22)}`

/** The success of the attacked tenant's calls, none of which is repeated. */
export interface Shedding {
  readonly credential: string
  readonly responses: number
  readonly success: Success
  readonly missed: readonly string[]
}

export async function measureShedding(): Promise<readonly Shedding[]> {
  using service = new Child('flood/shed-service-process.ts', RUNTIME_FLAGS)
  using attacker = new Child('flood/shed-attack-process.ts')
  using attacked = new Child('flood/journeys-process.ts')
  using other = new Child('flood/journeys-process.ts')
  const ready = await service.next<BenchReady>()
  const [first, second, third] = ready.tenants as [Keys, Keys, Keys]
  const ask = (child: Child, keys: Keys, task: Omit<JourneyTask, 'port' | keyof Keys>) =>
    child.ask<Success>({ port: ready.port, ...keys, ...task })
  const enrol = { phones: PHONES, perSecond: 0, forMs: 0 }
  await Promise.all([ask(attacked, first, enrol), ask(other, second, enrol)])
  await revoked(service, ready, third)
  const phone = await ownPhone(ready, first)

  const flood = async (requests: readonly ShedRequest[]) => {
    const forMs = FLOOD_MS + 2 * LEAD_MS
    const journeys = Promise.all([
      ask(attacked, first, { phones: 0, perSecond: PER_SECOND.attacked, forMs }),
      ask(other, second, { phones: 0, perSecond: PER_SECOND.other, forMs }),
    ])
    await pause(LEAD_MS)
    const task: ShedAttackTask = { port: ready.port, requests, forMs: FLOOD_MS }
    const { responses } = await attacker.ask<{ responses: number }>(task)
    const [success] = await journeys
    await pause(REST_MS)
    return { responses, success }
  }
  const base = await flood(requestsWith(undefined))
  const rows: Shedding[] = [{ credential: 'none', ...base, missed: [] }]
  for (const [credential, token] of [
    ['a live key’s id', junkOf(first.credential)],
    ['a revoked key, whole', third.credential],
    ['a phone’s token id', junkOf(phone)],
    ['an own phone’s token', phone],
    ['the publishable key', first.publishableKey],
  ] as const) {
    const measured = await flood(requestsWith(token))
    const missed = KINDS.filter((kind) => measured.success[kind] < base.success[kind] - MAX_LOSS)
    rows.push({ credential, ...measured, missed })
  }
  return rows
}

type Keys = BenchReady['tenants'][number]

/** The calls that rank highest for each kind of credential, and creates. */
function requestsWith(token: string | undefined): readonly ShedRequest[] {
  const credential = token === undefined ? {} : { authorization: token }
  return [
    { method: 'POST', path: `/sessions/${SESSION}/form-completed`, ...credential },
    { method: 'POST', path: '/sessions', ...credential },
    { method: 'POST', path: '/attestations', ...credential },
    { method: 'GET', path: '/publishable-key', ...credential, origin: PAGE_ORIGIN },
  ]
}

function junkOf(credential: string): string {
  const id = credential.slice(0, credential.indexOf('_', credential.lastIndexOf('beta_') + 5) + 1)
  return credential.startsWith('dt_')
    ? `${credential.slice(0, 14)}${JUNK.secret}`
    : `${id}${JUNK.secret}${JUNK.checksum}`
}

/** Uses a key, so that the service knows it, and then revokes it. */
async function revoked(service: Child, { port }: BenchReady, { credential }: Keys): Promise<void> {
  const headers = { authorization: `Bearer ${credential}`, 'content-type': 'application/json' }
  await send({ port, method: 'POST', path: '/api/v1/sessions', headers, payload: '{}' })
  await service.ask({ revoke: credential })
}

/** Registers a phone, as any client can, and claims a session of the tenant with it. */
async function ownPhone({ port }: BenchReady, { credential }: Keys): Promise<string> {
  const call = async <T>(path: string, body: object, token?: string): Promise<T> => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const headers = { 'content-type': 'application/json', ...authorization }
    const payload = JSON.stringify(body)
    return JSON.parse(
      await send({ port, method: 'POST', path: `/api/v1${path}`, headers, payload }),
    ) as T
  }
  const { challenge } = await call<{ challenge: string }>('/devices/challenges', {})
  const { public_key } = newKey()
  const phone = await call<TestPhone>('/devices', { format: 'software', challenge, public_key })
  const { id, nonce } = await call<CreatedSession>('/sessions', {}, credential)
  const claim = { nonce, device_id: phone.device_id }
  await call(`/sessions/${id}/claim`, claim, phone.device_token)
  return phone.device_token
}
