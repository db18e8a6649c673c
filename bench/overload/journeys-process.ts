import { setTimeout as pause } from 'node:timers/promises'
import type { CreatedSession, PhoneSession, RetryPolicy, VerifiedEvidence } from '@bonded/contract'
import { RETRY_POLICY as BACKEND_POLICY } from '../../packages/integrator/src/service/call.ts'
import { RETRY_POLICY as PHONE_POLICY } from '../../packages/phone/src/service/retry.ts'
import {
  attestation,
  carriedSignals,
  evidenceRequest,
  type TestPhone,
} from '../../tests/harness/phone.ts'
import { PAGE_ORIGIN } from '../bench-service.ts'
import { respondToTasks, inTurns } from '../http-calls.ts'
import { ServiceCalls } from '../phones.ts'
import { Client, type Tallies } from './client.ts'

/**
 * `saturate` runs journeys one after the other, in so many callers, without pauses. `offer` starts
 * so many journeys a second, whatever the service returns.
 */
export interface JourneyTask {
  /** Of the nodes. */
  readonly ports: readonly number[]
  readonly credential: string
  readonly publishableKey: string
  readonly step: 'enrol' | 'saturate' | 'offer'
  readonly phones: number
  readonly callers: number
  readonly perSecond: number
  readonly forMs: number
}

export interface Journeys {
  readonly finished: number
  readonly tallies: Tallies
  /** The part of the time in which this process, the generator of the load, was busy. */
  readonly utilization: number
}

/** The time in which a simulated user scans the QR code, or approves. Users take longer. */
const USER_MS = 500
const STATUS_READS = 3
const NO_RETRY: RetryPolicy = { ...PHONE_POLICY, maxAttempts: 1 }
const CONNECTIONS = 400

let client: Client | undefined
const phones: TestPhone[] = []

respondToTasks(async (task: JourneyTask): Promise<Journeys> => {
  client ??= new Client(task.ports)
  const calls = client
  calls.take()
  const busy = performance.eventLoopUtilization()
  let finished = 0
  const one = async (userMs: number) => {
    const created = await create(calls, task)
    if (created === undefined) return
    const phone = phones.pop()
    // All phones are busy: the benchmark must enrol more of them.
    if (phone === undefined) throw new Error('no phone is free')
    if (await bond(calls, task, { created, phone, userMs })) finished += 1
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
    await calls.open(CONNECTIONS)
    await offer(task, one)
  }
  const { utilization } = performance.eventLoopUtilization(busy)
  return { finished, tallies: calls.take(), utilization }
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

async function enrolPhones({ ports, credential, ...task }: JourneyTask): Promise<void> {
  let turns = 0
  const calls = new ServiceCalls({
    port: () => ports[turns++ % ports.length] ?? 0,
    credential,
  })
  const places = Array.from({ length: task.phones })
  await inTurns(places, task.callers, async () => void phones.push(await calls.enrol()))
}

function create(calls: Client, task: JourneyTask): Promise<CreatedSession | undefined> {
  return calls.call<CreatedSession>('create', {
    token: task.credential,
    policy: BACKEND_POLICY,
    path: '/sessions',
    body: () => ({ workflow: 'w', action: 'a' }),
    headers: { 'idempotency-key': crypto.randomUUID() },
  })
}

interface Bond {
  readonly created: CreatedSession
  readonly phone: TestPhone
  readonly userMs: number
}

/** @returns whether the action was completed */
async function bond(
  calls: Client,
  task: JourneyTask,
  { created, phone, userMs }: Bond,
): Promise<boolean> {
  const backend = { token: task.credential, policy: BACKEND_POLICY }
  const mobile = { token: phone.device_token, policy: PHONE_POLICY }
  const page = readStatus(calls, task, { created, userMs })
  await pause(userMs * Math.random())
  const path = `/sessions/${created.id}`
  const view = await calls.call<PhoneSession>('claim', {
    ...mobile,
    path: `${path}/claim`,
    body: () => ({ nonce: created.nonce, device_id: phone.device_id }),
  })
  if (view === undefined) return false
  const session = { ...view, id: created.id }
  const signals = carriedSignals(Date.parse(view.server_time))
  const response = await calls.call<{ verified_evidence: VerifiedEvidence }>('evidence', {
    ...mobile,
    path: '/evidence',
    // Signed again for each attempt: the service accepts a counter once.
    body: () => evidenceRequest(phone, session, signals, view.server_time),
  })
  if (response === undefined) return false
  await pause(userMs * Math.random())
  const assertion = attestation(phone, session, response.verified_evidence, view.server_time)
  const attested = await calls.call<PhoneSession>('attest', {
    ...mobile,
    path: '/attestations',
    body: () => assertion,
  })
  if (attested === undefined) return false
  const full = await calls.call('gate', { ...backend, path })
  if (full === undefined) return false
  const completed = await calls.call('complete', {
    ...backend,
    path: `${path}/form-completed`,
    body: () => ({}),
    headers: { 'x-bond-completion-secret': created.completion_secret ?? '' },
  })
  await page
  return completed !== undefined
}

/** The page polls while the user acts, and does not retry a poll that failed. */
async function readStatus(
  calls: Client,
  task: JourneyTask,
  { created, userMs }: Pick<Bond, 'created' | 'userMs'>,
): Promise<void> {
  for (let read = 0; read < STATUS_READS; read++) {
    await calls.call('status', {
      token: task.publishableKey,
      policy: NO_RETRY,
      path: `/sessions/${created.id}`,
      headers: { 'x-bond-watch': created.watch_token, origin: PAGE_ORIGIN },
    })
    await pause(userMs / STATUS_READS)
  }
}
