import { setTimeout as pause } from 'node:timers/promises'
import type { TestPhone } from '../../tests/harness/phone.ts'
import { respondToTasks, inTurns, shedCalls } from '../http-calls.ts'
import { type Bond, ServiceCalls } from '../phones.ts'
import { sharedNowMs } from '../process.ts'
import type { Attested, PhonesTask, WatchedSession } from './fan-out-task.ts'

/** The phones of the fan-out benchmark, and the backend that creates their sessions. */
const CALLERS = 16
/** Each phone bonds several sessions, one after the other. */
const PHONES = 500

let bonds: Bond[] = []
const phones: TestPhone[] = []

respondToTasks(async (task: PhonesTask) => (task.step === 'prepare' ? prepare(task) : bond(task)))

async function prepare(task: PhonesTask): Promise<{ sessions: readonly WatchedSession[] }> {
  const nodes = task.ports.map((port) => new ServiceCalls({ port, credential: task.credential }))
  const nodeOf = (at: number) => nodes[at % nodes.length] as ServiceCalls
  bonds = []
  await inTurns(Array.from({ length: PHONES }), CALLERS, async (_, at) => {
    phones[at] ??= await nodeOf(at).enrol()
  })
  await inTurns(Array.from({ length: task.sessions }), CALLERS, async (_, at) => {
    const bond = await nodeOf(at).create(phones[at % PHONES] as TestPhone)
    bonds[at] = bond
    await nodeOf(at + 1).claim(bond)
    await nodeOf(at).fetchEvidence(bond, { short: true })
  })
  return {
    sessions: bonds.map(({ created: { id, watch_token } }) => ({ id, watch_token })),
  }
}

/** The attestations begin at their time, no matter how many are under way. */
async function bond({ ports, credential, rate }: PhonesTask): Promise<Attested> {
  const [port = 0] = ports
  const service = new ServiceCalls({ port, credential })
  const shedBefore = shedCalls()
  // Signed in advance, so that the time belongs to the nodes. The counters of a phone rise.
  const payloads = bonds.map((bond) => service.sign(bond, new Date().toISOString()))
  const sentAt: number[] = []
  const repliedAt: number[] = []
  const running: Promise<void>[] = []
  const began = sharedNowMs()
  for (const [at, own] of bonds.entries()) {
    const dueAt = began + (at * 1_000) / rate
    while (sharedNowMs() < dueAt) await pause(1)
    sentAt[at] = sharedNowMs()
    running.push(
      service.attest(own, payloads[at] as string).then(() => {
        repliedAt[at] = sharedNowMs()
      }),
    )
  }
  await Promise.all(running)
  return { sentAt, repliedAt, shed: shedCalls() - shedBefore }
}
