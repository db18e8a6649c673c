import {
  type AppAttest,
  canonicalJson,
  type PhoneSession,
  type TimelineEntry,
  type VerifiedEvidence,
} from '@bonded/contract'
import { asTestRoots, ATTESTED_KEYS } from '../tests/harness/attested-phones.ts'
import {
  type AttestedKey,
  attestation,
  type Tampering,
  carriedSignals,
  evidenceRequest,
  newKey,
  type TestPhone,
} from '../tests/harness/phone.ts'
import { TestClock } from '../tests/harness/test-clock.ts'
import { exchangeWith, type Request } from '../tests/pressure/exchange.ts'
import { addShop, run, workFolder } from '../tests/pressure/running.ts'
import { Line } from './line.ts'
import { comparePairs, samplesInRandomOrder } from './welch.ts'

/**
 * Tests whether response times reveal why an assertion failed. Sends attestations with one fault
 * each, in random order over one keep-alive socket, each on its own session, and compares their
 * times pairwise. Fails when a pair differs.
 *
 * npm run bench:rejections -- [samples of each kind] [a format; default all]
 */
const SAMPLES = Number(process.argv[2] ?? 2_000)
const FORMATS = ATTESTED_KEYS.filter(
  ([format]) => process.argv[3] === undefined || process.argv[3] === format,
)

/**
 * Warm-up rounds until V8 has compiled the code. Each sample's reason is checked in its session's
 * timeline.
 */
const WARM_UP_SAMPLES = 30
/** The one response to all of them. */
const REJECTED = 400

/**
 * The fault; `counter` is one that the key has used. The service responds to each with
 * `assertion_invalid`.
 */
interface Kind {
  readonly step: string
  readonly tampering?: Tampering
  readonly change?: Partial<AppAttest>
}
const KINDS: readonly Kind[] = [
  { step: 'key_id', change: { key_id: Buffer.alloc(32, 1).toString('base64url') } },
  { step: 'client_data_hash', tampering: { hash: Buffer.alloc(32, 1) } },
  { step: 'signature', tampering: { privateKey: newKey().privateKey } },
  { step: 'app_id', tampering: { appId: 'evil.example' } },
  { step: 'counter', tampering: { counter: 1 } },
  // The assertion has no fault, but the evidence belongs to another session.
  { step: 'evidence_mac' },
]

using folder = workFolder()
const clock = new TestClock()
const withPhones = <Service extends object>(service: Service) => ({
  ...service,
  ...asTestRoots(clock),
})
await using running = await run({ databaseFile: folder.databaseFile, clock, rewire: withPhones })
using exchange = exchangeWith(() => running.port)
const shop = await addShop(running.service)

let distinguishable = 0
for (const [format, makeKey] of FORMATS) {
  const phone = await register(makeKey())
  const evidence = await bondOnce(phone)
  const warmUp = await prepare(phone, evidence, WARM_UP_SAMPLES)
  await timesOf(phone, warmUp, WARM_UP_SAMPLES)
  await assertSteps(warmUp)
  const times = await timesOf(phone, await prepare(phone, evidence, SAMPLES), SAMPLES)
  distinguishable += comparePairs({
    caller: format,
    kinds: KINDS.map(({ step }, at) => ({ name: step, times: times[at] as Float64Array })),
  })
}
process.exitCode = distinguishable > 0 ? 1 : 0

interface Attempt {
  readonly kind: number
  readonly sample: number
  readonly session: PhoneSession
  readonly body: string
}

/**
 * In random order, each on its own session. Built in advance, so that only attestations run while
 * the benchmark takes times.
 */
async function prepare(
  phone: TestPhone,
  evidence: VerifiedEvidence,
  samples: number,
): Promise<readonly Attempt[]> {
  const attempts: Attempt[] = []
  // Signed in the order of sending, because an assertion that verifies raises the counter.
  for (const { kind, sample } of samplesInRandomOrder(KINDS.length, samples)) {
    const session = await claimed(phone)
    const { tampering, change } = KINDS[kind] as Kind
    const body = attestation(phone, session, evidence, session.server_time, tampering)
    attempts.push({
      kind,
      sample,
      session,
      body: canonicalJson({ ...body, app_attest: { ...body.app_attest, ...change } }),
    })
  }
  return attempts
}

async function timesOf(
  { device_token }: TestPhone,
  attempts: readonly Attempt[],
  samples: number,
): Promise<readonly Float64Array[]> {
  const times = KINDS.map(() => new Float64Array(samples))
  using line = await Line.open(running.port)
  for (const { kind, sample, body } of attempts) {
    const { status, micros } = await line.post(
      '/api/v1/attestations',
      { authorization: `Bearer ${device_token}` },
      body,
    )
    if (status !== REJECTED) throw new Error(`${KINDS[kind]?.step}: responded with ${status}`)
    ;(times[kind] as Float64Array)[sample] = micros
  }
  return times
}

/** @throws when the session failed for another fault than the intended one */
async function assertSteps(attempts: readonly Attempt[]): Promise<void> {
  for (const { kind, session } of attempts) {
    const { body } = await exchange('GET', `/sessions/${session.id}/timeline`, {
      token: shop.server,
    })
    const step = body.entries.findLast((entry: TimelineEntry) => entry.kind === 'refused')?.step
    if (step !== KINDS[kind]?.step) throw new Error(`${KINDS[kind]?.step}: rejected at ${step}`)
  }
}

async function register(attested: AttestedKey): Promise<TestPhone> {
  const { challenge } = await call('POST', '/devices/challenges', {})
  const registered = await call('POST', '/devices', {
    body: { format: attested.format, challenge, ...attested.register(challenge) },
  })
  return { ...registered, privateKey: newKey().privateKey, counter: 0, attested }
}

async function claimed(phone: TestPhone): Promise<PhoneSession> {
  const { id, nonce } = await call('POST', '/sessions', { token: shop.server, body: {} })
  const body = { nonce, device_id: phone.device_id }
  return {
    ...(await call('POST', `/sessions/${id}/claim`, { token: phone.device_token, body })),
    id,
  }
}

/** Leaves a used counter, and evidence that no other session accepts. */
async function bondOnce(phone: TestPhone): Promise<VerifiedEvidence> {
  const session = await claimed(phone)
  const request = evidenceRequest(phone, session, carriedSignals(clock.now()), session.server_time)
  const { verified_evidence } = await call('POST', '/evidence', {
    token: phone.device_token,
    body: request,
  })
  const body = attestation(phone, session, verified_evidence, session.server_time)
  await call('POST', '/attestations', { token: phone.device_token, body })
  return verified_evidence
}

async function call(method: string, path: string, given: Request) {
  const { status, text, body } = await exchange(method, path, given)
  if (status >= 300) throw new Error(`${method} ${path} answered ${status} ${text}`)
  return body
}
