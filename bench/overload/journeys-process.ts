import { setTimeout as pause } from 'node:timers/promises'
import {
  canonicalJson,
  type CreatedSession,
  nextDelayMs,
  type PhoneSession,
  type RetryPolicy,
  type VerifiedEvidence,
} from '@bonded/contract'
import { RETRY_POLICY as BACKEND_POLICY } from '../../packages/integrator/src/service/call.ts'
import { RETRY_POLICY as PHONE_POLICY } from '../../packages/phone/src/service/retry.ts'
import {
  attestation,
  carriedSignals,
  evidenceRequest,
  newKey,
  type TestPhone,
} from '../../packages/service/tests/harness/phone.ts'
import { PAGE_ORIGIN } from '../bench-service.ts'
import { answerTasks, inTurns } from '../http-calls.ts'
import { type Call, ConnectionPool, type Response } from './connection-pool.ts'

/** The calls of a journey that are counted apart. */
export const KINDS = [
  'create',
  'status',
  'claim',
  'evidence',
  'attest',
  'gate',
  'complete',
] as const
export type Kind = (typeof KINDS)[number]

/**
 * `saturate` runs journeys one after the other, in so many callers, without pauses. `offer` starts
 * so many journeys a second, whatever the service answers.
 */
export interface JourneyTask {
  /** Of the nodes. Each call goes to the next one, as behind a load balancer. */
  readonly ports: readonly number[]
  readonly credential: string
  readonly publishableKey: string
  readonly step: 'enrol' | 'saturate' | 'offer'
  readonly phones: number
  readonly callers: number
  readonly perSecond: number
  readonly forMs: number
}

/** What became of the calls of one kind. A call is retried as the product's clients do. */
export interface Tally {
  /** Calls, each with all its attempts. */
  offered: number
  succeeded: number
  /** Attempts that the service rejected as overloaded. */
  shed: number
  /** Calls that failed for another reason than 503. */
  broken: number
  readonly shedMs: number[]
  readonly admittedMs: number[]
}
export interface Journeys {
  readonly finished: number
  readonly tallies: Readonly<Record<Kind, Tally>>
}

/** The time in which a simulated user scans the QR code, and in which they approve. Users take longer. */
const USER_MS = 500
const STATUS_READS = 3
const NO_RETRY: RetryPolicy = { ...PHONE_POLICY, maxAttempts: 1 }
const OVERLOADED = 503
const CONNECTIONS = 400
/** At most this many figures of each kind, so that the client's own memory stays small. */
const MAX_FIGURES = 200_000

let pools: readonly ConnectionPool[] = []
let sent = 0
let phones: TestPhone[] = []
let tallies = newTallies()

answerTasks(async (task: JourneyTask): Promise<Journeys> => {
  if (pools.length === 0) pools = task.ports.map((port) => new ConnectionPool(port))
  tallies = newTallies()
  let finished = 0
  const one = async (userMs: number) => {
    const created = await create(task)
    if (created === undefined) return
    const phone = phones.pop()
    // All phones are busy: the benchmark must enrol more of them.
    if (phone === undefined) throw new Error('no phone is free')
    if (await bond(task, { created, phone, userMs })) finished += 1
    phones.unshift(phone)
  }
  if (task.step === 'enrol') await enrolPhones(task)
  if (task.step === 'saturate') {
    const untilMs = performance.now() + task.forMs
    await Promise.all(
      Array.from({ length: task.callers }, async () => {
        while (performance.now() < untilMs) await one(0)
      }),
    )
  }
  if (task.step === 'offer') {
    await openConnections()
    await offer(task, one)
  }
  return { finished, tallies }
})

async function offer(task: JourneyTask, one: (userMs: number) => Promise<void>): Promise<void> {
  const startedMs = performance.now()
  const running = new Set<Promise<void>>()
  let started = 0
  for (;;) {
    const elapsedMs = performance.now() - startedMs
    if (elapsedMs >= task.forMs) break
    const due = (elapsedMs / 1_000) * task.perSecond
    for (; started < due; started++) {
      const run = one(USER_MS).finally(() => running.delete(run))
      running.add(run)
    }
    await pause(5)
  }
  await Promise.all(running)
}

/** A proxy in front of the nodes has them open: Node accepts only one in a turn of its event loop. */
async function openConnections(): Promise<void> {
  const places = Array.from({ length: CONNECTIONS })
  await Promise.all(
    pools.map((pool) =>
      Promise.all(
        places.map(() => pool.send({ method: 'GET', path: '/health/alive', headers: {} })),
      ),
    ),
  )
}

async function enrolPhones(task: JourneyTask): Promise<void> {
  const enrol = async (): Promise<TestPhone> => {
    const { challenge } = parse<{ challenge: string }>(await post('/devices/challenges'))
    const { public_key, privateKey } = newKey()
    const body = { format: 'software', challenge, public_key }
    const registered = parse<TestPhone>(await post('/devices', { body }))
    return { ...registered, privateKey, counter: 0 }
  }
  const places = Array.from({ length: task.phones })
  await inTurns(places, task.callers, async () => void phones.push(await enrol()))
}

function create(task: JourneyTask): Promise<CreatedSession | undefined> {
  return call<CreatedSession>('create', {
    token: task.credential,
    policy: BACKEND_POLICY,
    path: '/sessions',
    body: { workflow: 'w', action: 'a' },
    headers: { 'idempotency-key': crypto.randomUUID() },
  })
}

interface Bond {
  readonly created: CreatedSession
  readonly phone: TestPhone
  readonly userMs: number
}

/** @returns whether the action was completed */
async function bond(task: JourneyTask, { created, phone, userMs }: Bond): Promise<boolean> {
  const backend = { token: task.credential, policy: BACKEND_POLICY }
  const mobile = { token: phone.device_token, policy: PHONE_POLICY }
  const page = readStatus(task, created, userMs)
  await pause(userMs * Math.random())
  const path = `/sessions/${created.id}`
  const view = await call<PhoneSession>('claim', {
    ...mobile,
    path: `${path}/claim`,
    body: { nonce: created.nonce, device_id: phone.device_id },
  })
  if (view === undefined) return false
  const session = { ...view, id: created.id }
  const signals = carriedSignals(Date.parse(view.server_time))
  const answer = await call<{ verified_evidence: VerifiedEvidence }>('evidence', {
    ...mobile,
    path: '/evidence',
    body: evidenceRequest(phone, session, signals, view.server_time),
  })
  if (answer === undefined) return false
  await pause(userMs * Math.random())
  const attested = await call<PhoneSession>('attest', {
    ...mobile,
    path: '/attestations',
    body: attestation(phone, session, answer.verified_evidence, view.server_time),
  })
  if (attested === undefined) return false
  const full = await call('gate', { ...backend, path })
  if (full === undefined) return false
  const completed = await call('complete', {
    ...backend,
    path: `${path}/form-completed`,
    body: {},
    headers: { 'x-bond-completion-secret': created.completion_secret ?? '' },
  })
  await page
  return completed !== undefined
}

/** The page polls while the user acts, and does not retry a poll that failed. */
async function readStatus(task: JourneyTask, created: CreatedSession, userMs: number) {
  for (let read = 0; read < STATUS_READS; read++) {
    await call('status', {
      token: task.publishableKey,
      policy: NO_RETRY,
      path: `/sessions/${created.id}`,
      headers: { 'x-bond-watch': created.watch_token, origin: PAGE_ORIGIN },
    })
    await pause(userMs / STATUS_READS)
  }
}

interface Request {
  readonly token: string
  readonly policy: RetryPolicy
  readonly path: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

/** Makes a call as the product's client does: it honors `Retry-After`, with jitter. */
async function call<T>(kind: Kind, request: Request): Promise<T | undefined> {
  const tally = tallies[kind]
  tally.offered += 1
  const startedMs = performance.now()
  for (let attempt = 1; ; attempt++) {
    const response = await send(request)
    if (response === undefined || response.status !== OVERLOADED) {
      if (response === undefined || response.status >= 300) {
        if (tally.broken < 3) console.error(kind, response?.status, response?.body.slice(0, 200))
        tally.broken += 1
        return undefined
      }
      note(tally.admittedMs, response.ms)
      tally.succeeded += 1
      return parse<T>(response)
    }
    tally.shed += 1
    note(tally.shedMs, response.ms)
    const { retryAfterMs } = response
    const elapsedMs = performance.now() - startedMs
    const delayMs = nextDelayMs(request.policy, { attempt, elapsedMs, retryAfterMs })
    if (delayMs === undefined) return undefined
    await pause(delayMs)
  }
}

function nextPool(): ConnectionPool | undefined {
  return pools[sent++ % pools.length]
}

async function send({ token, path, body, headers }: Request): Promise<Response | undefined> {
  const isPost = body !== undefined
  const request: Call = {
    method: isPost ? 'POST' : 'GET',
    path: `/api/v1${path}`,
    headers: { authorization: `Bearer ${token}`, ...headers },
    ...(isPost && { body: canonicalJson(body) }),
  }
  return nextPool()
    ?.send(request)
    .catch(() => undefined)
}

async function post(path: string, { body }: { body?: object } = {}): Promise<Response> {
  const sent = body === undefined ? {} : { body: canonicalJson(body) }
  const response = await nextPool()?.send({
    method: 'POST',
    path: `/api/v1${path}`,
    headers: {},
    ...sent,
  })
  if (response === undefined || response.status >= 300)
    throw new Error(`${path} answered ${response?.status}`)
  return response
}

function parse<T>({ body }: Response): T {
  return (body === '' ? {} : JSON.parse(body)) as T
}

function note(figures: number[], figure: number): void {
  if (figures.length < MAX_FIGURES) figures.push(figure)
}

function newTallies(): Record<Kind, Tally> {
  return Object.fromEntries(
    KINDS.map((kind): [Kind, Tally] => [
      kind,
      { offered: 0, succeeded: 0, shed: 0, broken: 0, shedMs: [], admittedMs: [] },
    ]),
  ) as Record<Kind, Tally>
}
