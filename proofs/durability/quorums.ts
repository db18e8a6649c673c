import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseId } from '@bonded/contract'
import type { Store } from '@bonded/core/ports/store'
import { APPROVAL_TABLE, type Person } from '@bonded/integrator/approval'
import { inboxLink, type ScannedRequest, type SimulatedPhone } from '@bonded/simulator'
import pg from 'pg'
import { Client } from './client.ts'
import type { Comparison } from './compare.ts'
import { compareQuorum, type SettledQuorum } from './compare-quorum.ts'
import { crash, type DurabilityOptions, ORIGIN, pick, settingsOf } from './durability.ts'
import { Ledger } from './ledger.ts'
import { createOnce, ignoreLoss, type LoadOptions, phoneOf, repeat } from './load.ts'
import { startNode } from './nodes.ts'
import type { BackendOptions, Work } from './quorum-backend.ts'
import { Backend } from './quorum-backends.ts'
import { seeded } from './seeded.ts'

/** The figures of a run. */
export interface QuorumFigures extends Comparison {
  readonly quorums: number
  readonly ran: number
  readonly unknown: number
  readonly backendKills: number
  readonly nodeKills: number
  readonly serverStops: number
}

export interface QuorumOptions extends Omit<DurabilityOptions, 'rounds' | 'onRound'> {
  readonly quorums: number
  readonly onCrash: (crash: { readonly settled: number; readonly stopped: string }) => void
}

/** Nodes or the database are stopped after so many quorums. */
const ROUND = { least: 3, spread: 12 } as const
/** How many tasks of a backend are killed, and when: an execution takes about as long. */
const KILLED = { share: 0.1, withinMs: 60 } as const
const POLL_MS = 20
/** Longer than the lease of a process that runs an action. */
const LEASE_MS = 120_000
/** A refusal is final, and so is an end. A node or a database that was stopped is not. */
const FINAL = /^(?:ran|already_executed|outcome_unknown|not_approved|refused)/

/** A quorum of the run, and what its people did. */
type Asked = Pick<SettledQuorum, 'people'> & { readonly id: string }

interface Scene extends LoadOptions {
  readonly backends: readonly Backend[]
}

/**
 * Settles quorums while backends, nodes and database are stopped, and compares the runs of their
 * actions with the approvals that are stored.
 */
export async function proveQuorums(options: QuorumOptions): Promise<QuorumFigures> {
  const { scratch, folder, seed, callers, quorums } = options
  const random = seeded(seed)
  const credential = await scratch.createTenant()
  const ledger = join(folder, 'payments.log')
  writeFileSync(ledger, '')
  const databaseUrl = await backendDatabase(options)
  const running = await Promise.all(
    Array.from({ length: options.nodes }, (_, index) => startNode(settingsOf(options, index))),
  )
  const ofBalancer = seeded(seed + 1)
  const client = new Client(new Ledger(), () => pick(running, ofBalancer).origin)
  const backendOf = (aheadMs: number) => {
    const given: BackendOptions = { databaseUrl, ledger, credential, origin: ORIGIN, aheadMs }
    return new Backend(given, () => running.map(({ origin }) => origin))
  }
  const backends = [backendOf(0), backendOf(0)]
  const last = backendOf(LEASE_MS)
  const ending = new AbortController()
  const needs = Array.from({ length: quorums }, (_, need) => need)
  const settled: Asked[] = []
  const lane = async () => {
    for (let need = needs.shift(); need !== undefined; need = needs.shift()) {
      const { signal } = ending
      const ofNeed = seeded(seed + 2 + need)
      const scene = { client, origin: ORIGIN, credential, random: ofNeed, signal, backends }
      settled.push(await settle(need, scene))
    }
  }
  const counts = { nodeKills: 0, serverStops: 0 }
  try {
    const load = Promise.all(Array.from({ length: callers }, lane)).finally(() => ending.abort())
    load.catch(() => {})
    while (!ending.signal.aborted) {
      const target = settled.length + ROUND.least + Math.floor(random() * ROUND.spread)
      while (settled.length < target && !ending.signal.aborted) await wait(POLL_MS)
      if (!ending.signal.aborted)
        await crash({ ...options, running, random, counts }, (stopped) =>
          options.onCrash({ settled: settled.length, stopped }),
        )
    }
    await load
    const backendKills = backends.reduce((sum, { kills }) => sum + kills, 0)
    for (const backend of backends) await backend.kill()
    const listed = (await answered(last, { verb: 'reconcile' }, /^(?!retry)/)).split(' ')
    const unknown = listed.filter((id) => id !== '')
    const runs = runsIn(ledger)
    await using store = await scratch.openStore()
    const comparison = { lost: [] as string[], invented: [] as string[] }
    for (const { id, people } of settled) {
      const status = await answered(last, { verb: 'status', id }, /^(?!retry)/)
      const found = compareQuorum({
        ...(await storedQuorum(store, id)),
        people,
        runs: runs.get(id) ?? [],
        status,
        isListed: unknown.includes(id),
      })
      comparison.lost.push(...found.lost.map((line) => `${id}: ${line}`))
      comparison.invented.push(...found.invented.map((line) => `${id}: ${line}`))
    }
    const ran = runs.size
    return { quorums, ran, unknown: unknown.length, backendKills, ...counts, ...comparison }
  } finally {
    ending.abort()
    const ended = [...backends, last].map((backend) => backend.end())
    await Promise.allSettled([...running.map((node) => node.kill()), ...ended])
  }
}

/** One quorum: three people, of whom two approve, or one says no, before, beside or after. */
async function settle(need: number, scene: Scene): Promise<Asked> {
  const { random, backends, signal } = scene
  const [first, second, third] = [
    await bondedPerson(scene),
    await bondedPerson(scene),
    await bondedPerson(scene),
  ]
  const people = [first, second, third].map(({ ref }, index): Person => {
    return { person: `person ${index} of ${need}`, ref }
  })
  const anyBackend = () => pick(backends, random)
  const perform = (work: Work, isFinal: RegExp) =>
    answered(anyBackend(), work, isFinal, (backend) => {
      if (random() < KILLED.share) setTimeout(() => void backend.kill(), random() * KILLED.withinMs)
    })
  const payment = { need }
  const id = await perform({ verb: 'request', payment, people }, /^(?:quo_|refused)/)
  if (!id.startsWith('quo_')) throw new Error(`the request ended with ${id}`)
  const execute = () => perform({ verb: 'execute', payment, id }, FINAL)

  await answer(first, 'approve', signal)
  if (need % 5 === 0) {
    await answer(second, 'decline', signal)
    await execute()
    return { id, people: 'refused' }
  }
  if (need % 5 === 1) {
    // One approval runs nothing, and the second one does.
    const alone = await execute()
    if (!alone.startsWith('not_approved')) throw new Error(`one approval ended with ${alone}`)
  }
  const scanned = await answer(second, 'approve', signal)
  if (need % 5 === 2) {
    await Promise.all([execute(), scanned?.decline('user_declined').catch(ignoreLoss)])
    return { id, people: 'either' }
  }
  // The third one approves beside or after the action, which two processes begin.
  await Promise.all([execute(), execute(), answer(third, 'approve', signal)])
  return { id, people: 'approved' }
}

/** Repeats a task until its end is known. */
async function answered(
  backend: Backend,
  work: Work,
  isFinal: RegExp,
  onSent: (backend: Backend) => void = () => {},
): Promise<string> {
  for (;;) {
    const performing = backend.perform(work)
    onSent(backend)
    const end = await performing
    if (isFinal.test(end)) return end
    await wait(POLL_MS)
  }
}

interface Bonded {
  readonly phone: SimulatedPhone
  readonly ref: string
}

/** A user who has bonded once, and whom no request has been sent to. */
async function bondedPerson(scene: Scene): Promise<Bonded> {
  const { client, credential, signal } = scene
  const phone = phoneOf(scene)
  const bond = async () => {
    const session = await createOnce(scene)()
    if (session === undefined) return undefined
    await phone.run(session.qr_payload, 'approve')
    const headers = { authorization: `Bearer ${credential}` }
    const path = `/api/v1/sessions/${session.id}`
    const response = await client.send({ method: 'GET', path, headers })
    const { subject_ref } = JSON.parse(await response.text()) as { subject_ref?: string | null }
    return subject_ref ?? undefined
  }
  const ref = await repeat(signal, bond, Number.POSITIVE_INFINITY)
  if (ref === undefined) throw new Error('the run has ended')
  return { phone, ref }
}

/** Answers the only request of the inbox, until none waits. Returns it as last opened. */
async function answer(
  { phone }: Bonded,
  verdict: 'approve' | 'decline',
  signal: AbortSignal,
): Promise<ScannedRequest | undefined> {
  let scanned: ScannedRequest | undefined
  const act = async () => {
    const { items } = await (await phone.inbox()).open()
    const [item] = items
    if (item === undefined) return true
    scanned = await phone.scan(inboxLink(item))
    if (verdict === 'approve') await scanned.approve({ evidence: () => 'carried' })
    else await scanned.decline('user_declined')
    return undefined
  }
  await repeat(signal, act, Number.POSITIVE_INFINITY)
  return scanned
}

/** Where the backends have their rows: beside the service's, or in a file of their own. */
async function backendDatabase({ scratch, folder }: QuorumOptions): Promise<string> {
  if (scratch.server === undefined) return `sqlite:${join(folder, 'backend.db')}`
  const pool = new pg.Pool({ connectionString: scratch.url })
  await pool.query(APPROVAL_TABLE)
  await pool.end()
  return scratch.url
}

/** When each run of each action began. */
function runsIn(ledger: string): ReadonlyMap<string, readonly number[]> {
  const runs = new Map<string, number[]>()
  for (const line of readFileSync(ledger, 'utf8').split('\n').filter(Boolean)) {
    const [id = '', at] = line.split(' ')
    runs.set(id, [...(runs.get(id) ?? []), Number(at)])
  }
  return runs
}

async function storedQuorum(
  store: Store,
  id: string,
): Promise<Pick<SettledQuorum, 'members' | 'needed'>> {
  const quorumId = parseId('quo', id)
  const members =
    quorumId === undefined ? [] : await store.read((tables) => tables.sessions.ofQuorum(quorumId))
  return { members, needed: 2 }
}
