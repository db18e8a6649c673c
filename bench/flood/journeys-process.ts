import { setTimeout as pause } from 'node:timers/promises'
import type { TestPhone } from '../../tests/harness/phone.ts'
import { PAGE_ORIGIN } from '../bench-service.ts'
import { inTurns, respondToTasks, sendOnce } from '../http-calls.ts'
import { type Bond, ServiceCalls } from '../phones.ts'

/** The parent's message: phones to register first, then journeys that begin at a steady rate. */
export interface JourneyTask {
  readonly port: number
  readonly credential: string
  readonly publishableKey: string
  readonly phones: number
  readonly perSecond: number
  readonly forMs: number
}

/** The calls of a journey that are counted. */
export const KINDS = ['create', 'attest', 'gate', 'complete', 'status'] as const
type Kind = (typeof KINDS)[number]
/** The share of the calls that succeeded. A call is never repeated. */
export type Success = Readonly<Record<Kind, number>>

/** The time in which a simulated user scans the QR code, or approves. Users take longer. */
const USER_MS = 500
const STATUS_READS = 3

const phones: TestPhone[] = []

respondToTasks(async (task: JourneyTask): Promise<Success> => {
  const registering = new ServiceCalls(task)
  await inTurns(Array.from({ length: task.phones }), 8, async () => {
    phones.push(await registering.enrol())
  })
  const calls = new ServiceCalls({ ...task, send: sendOnce })
  const counts: Partial<Record<Kind, { offered: number; succeeded: number }>> = {}
  const count = async <T>(kind: Kind, call: Promise<T>): Promise<T> => {
    const of = (counts[kind] ??= { offered: 0, succeeded: 0 })
    of.offered += 1
    const result = await call
    of.succeeded += 1
    return result
  }
  const journey = async (phone: TestPhone) => {
    const bond = await count('create', calls.create(phone))
    const page = readStatus(bond)
    await pause(USER_MS * Math.random())
    await calls.claim(bond)
    await calls.fetchEvidence(bond)
    await pause(USER_MS * Math.random())
    await count('attest', calls.attest(bond, calls.sign(bond)))
    await count('gate', calls.get(bond))
    await count('complete', calls.complete(bond))
    await page
  }
  const readStatus = async ({ created }: Bond) => {
    const headers = {
      authorization: `Bearer ${task.publishableKey}`,
      'x-bond-watch': created.watch_token,
      origin: PAGE_ORIGIN,
    }
    const read = { port: task.port, method: 'GET', path: `/api/v1/sessions/${created.id}`, headers }
    for (let reads = 0; reads < STATUS_READS; reads++) {
      await count('status', sendOnce(read)).catch(() => {})
      await pause(USER_MS / STATUS_READS)
    }
  }
  const running: Promise<void>[] = []
  for (let started = 0; started < (task.perSecond * task.forMs) / 1_000; started++) {
    const phone = phones.shift()
    if (phone === undefined) throw new Error('no phone is free')
    // A journey ends at its first failed call.
    running.push(
      journey(phone)
        .catch(() => {})
        .finally(() => phones.push(phone)),
    )
    await pause(1_000 / task.perSecond)
  }
  await Promise.all(running)
  const share = (kind: Kind) => (counts[kind]?.succeeded ?? 0) / (counts[kind]?.offered ?? 1)
  return Object.fromEntries(KINDS.map((kind) => [kind, share(kind)])) as Success
})
