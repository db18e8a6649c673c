import { canonicalJson, type VerifiedEvidence } from '@bonded/contract'
import { createPassportAuthority, createPassportChip, createPassport } from '@bonded/simulator'
import { ATTESTED_KEYS, TEST_ROOTS } from '../tests/harness/attested-phones.ts'
import { carriedSignals, evidenceRequest } from '../tests/harness/phone.ts'
import { TestClock } from '../tests/harness/test-clock.ts'
import type { TrustedIssuers } from './burst-service-process.ts'
import { respondToTasks, send } from './http-calls.ts'
import { passportSignal } from './passports.ts'
import { ServiceCalls, viewOf } from './phones.ts'
import { type Ready, sharedNowMs } from './process.ts'

/**
 * The parent's messages: first the keys and issuers to trust, then for each burst one to prepare
 * and one to send it.
 */
export type BurstTask =
  | { readonly step: 'issuers' }
  | {
      readonly step: 'prepare'
      readonly service: Ready
      readonly registrations: number
      readonly passports: number
    }
  | { readonly step: 'send' }

/**
 * From the first request to the last response, on the clock that all processes of a machine share.
 */
export interface BurstWindow {
  readonly fromMs: number
  readonly untilMs: number
}

interface Prepared {
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly payload: string
}

const state = createPassportAuthority(new TestClock().now())
const passports = (['rsa', 'ecdsa'] as const).map((kind) =>
  createPassport(state, { chip: createPassportChip({ kind }) }),
)
let burst: readonly Prepared[] = []

respondToTasks(
  async (task: BurstTask): Promise<TrustedIssuers | BurstWindow | Record<string, never>> => {
    if (task.step === 'issuers')
      return { phones: TEST_ROOTS, countryCertificate: state.countryCertificate.toString('base64') }
    if (task.step === 'send') return sendAll()
    burst = await prepare(task)
    return {}
  },
)

/**
 * The process builds everything expensive in advance and shuffles it, so that registrations and
 * passports are mixed.
 */
async function prepare({
  service,
  registrations,
  passports: count,
}: Extract<BurstTask, { step: 'prepare' }>): Promise<readonly Prepared[]> {
  const calls = new ServiceCalls(service)
  const prepared: Prepared[] = []
  for (let index = 0; index < registrations; index++)
    prepared.push(await registration(calls, service.port, index))
  for (let index = 0; index < count; index++) {
    const place = Math.floor((index * prepared.length) / count)
    prepared.splice(place, 0, await passportEvidence(calls, service.port, index))
  }
  return prepared
}

async function registration(calls: ServiceCalls, port: number, index: number): Promise<Prepared> {
  const [format, makeKey] = ATTESTED_KEYS[
    index % ATTESTED_KEYS.length
  ] as (typeof ATTESTED_KEYS)[number]
  const challenge = await calls.challenge()
  const payload = canonicalJson({ format, challenge, ...makeKey().register(challenge) })
  return { port, path: '/api/v1/devices', headers: { 'content-type': 'application/json' }, payload }
}

async function passportEvidence(
  calls: ServiceCalls,
  port: number,
  index: number,
): Promise<Prepared> {
  const phone = await calls.enrol()
  const bond = await calls.create(phone)
  await calls.claim(bond)
  const view = viewOf(bond)
  const passport = passportSignal(
    passports[index % passports.length] as (typeof passports)[number],
    view.nonce,
  )
  const signals = { ...carriedSignals(Date.parse(view.server_time)), passport }
  const headers = {
    authorization: `Bearer ${phone.device_token}`,
    'content-type': 'application/json',
  }
  return {
    port,
    path: '/api/v1/evidence',
    headers,
    payload: canonicalJson(evidenceRequest(phone, view, signals, view.server_time)),
  }
}

async function sendAll(): Promise<BurstWindow> {
  const fromMs = sharedNowMs()
  const responses = await Promise.all(
    burst.map(async (request) => ({
      request,
      response: await send({ method: 'POST', ...request }),
    })),
  )
  const untilMs = sharedNowMs()
  for (const { request, response } of responses) {
    if (!request.path.endsWith('/evidence')) continue
    const { verified_evidence } = JSON.parse(response) as { verified_evidence: VerifiedEvidence }
    if (verified_evidence.passport?.tier !== 'chip')
      throw new Error(`the service verified a passport to tier ${verified_evidence.passport?.tier}`)
  }
  return { fromMs, untilMs }
}
