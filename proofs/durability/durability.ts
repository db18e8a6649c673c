import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Store } from '@bonded/core/ports/store'
import type { Random } from '@bonded/simulator'
import { Client } from './client.ts'
import { type Comparison, compareWithStore } from './compare.ts'
import { Ledger } from './ledger.ts'
import { runCaller } from './load.ts'
import { type ServiceNode, startNode, untilReady } from './nodes.ts'
import { seeded } from './seeded.ts'

/** The database of a run. */
export interface Scratch {
  readonly url: string
  /** Opens the store to read what the run has left. */
  openStore(): Promise<Store>
  /** Creates the tenant of the run. Returns its server credential. */
  createTenant(): Promise<string>
  /** The server, where the run controls it. */
  readonly server?: { stopImmediately(): Promise<void>; start(): Promise<void> }
}

export interface DurabilityOptions {
  readonly scratch: Scratch
  readonly folder: string
  readonly rounds: number
  readonly nodes: number
  readonly callers: number
  /** Decides which processes are stopped, and what the clients do. */
  readonly seed: number
  /** The encoded root key of all nodes. */
  readonly rootKeys: string
  readonly onRound: (round: RoundReport) => void
}

export interface RoundReport {
  readonly round: number
  readonly stopped: string
  readonly acknowledged: number
}

/** The figures of a run. */
export interface DurabilityFigures extends Comparison {
  readonly rounds: number
  readonly nodeKills: number
  readonly serverStops: number
  readonly sessions: number
  readonly acknowledged: number
  readonly delivered: number
  /** Requests without a response, or with 5xx. Each may have happened or not. */
  readonly withoutResponse: number
}

/** The origin that phones sign. No node listens there; the clients send to the nodes themselves. */
export const ORIGIN = 'http://localhost:1'
/** The acknowledgments of a round. The end is random, so that a crash can hit any point. */
const ROUND = { least: 40, spread: 120 } as const
/** A round ends even if no client gets a response. */
const ROUND_WITHIN_MS = 30_000
const POLL_MS = 5

/** Runs the load, stops processes in every round, and compares what remains with the ledger. */
export async function proveDurability(options: DurabilityOptions): Promise<DurabilityFigures> {
  const { scratch, rounds, callers, seed } = options
  // The clients meet in any order. Their draws must not change those of the rounds.
  const random = seeded(seed)
  const ofCaller = (index: number) => seeded(seed + 2 + index)
  const ofBalancer = seeded(seed + 1)
  const credential = await scratch.createTenant()
  const ledger = new Ledger()
  const nodes = await Promise.all(
    Array.from({ length: options.nodes }, (_, index) => startNode(settingsOf(options, index))),
  )
  const client = new Client(ledger, () => pick(nodes, ofBalancer).origin)
  const ending = new AbortController()
  const load = Promise.all(
    Array.from({ length: callers }, (_, index) =>
      runCaller({
        client,
        origin: ORIGIN,
        credential,
        random: ofCaller(index),
        signal: ending.signal,
      }),
    ),
  )
  const counts = { nodeKills: 0, serverStops: 0 }
  try {
    for (let round = 1; round <= rounds; round++) {
      await Promise.race([load, untilAcknowledged(ledger, random)])
      // After the last round the callers find no node, and end.
      if (round === rounds) ending.abort()
      await crash({ ...options, running: nodes, random, counts }, (stopped) =>
        options.onRound({ round, stopped, acknowledged: ledger.acknowledged }),
      )
    }
    await load
  } finally {
    ending.abort()
    await Promise.allSettled(nodes.map((node) => node.kill()))
  }
  const store = await scratch.openStore()
  try {
    const comparison = await compareWithStore(ledger, store)
    const { acknowledged, delivered, withoutResponse } = ledger
    const sessions = ledger.sessions.size
    return { rounds, ...counts, sessions, acknowledged, delivered, withoutResponse, ...comparison }
  } finally {
    await store[Symbol.asyncDispose]()
  }
}

/** What a crash needs to stop processes, and to start them again. */
export interface Crashing extends Pick<DurabilityOptions, 'scratch' | 'folder' | 'rootKeys'> {
  readonly running: ServiceNode[]
  readonly random: Random
  readonly counts: { nodeKills: number; serverStops: number }
}

/** Stops some of the processes at once, starts them again, and waits until all are ready. */
export async function crash(
  crashing: Crashing,
  onStopped: (stopped: string) => void,
): Promise<void> {
  const { scratch, running, random, counts } = crashing
  const hasServer = scratch.server !== undefined
  const victims = pickVictims({ nodes: running.length, hasServer, random })
  await Promise.all([
    ...victims.nodes.map((index) => running[index]?.kill()),
    ...(victims.server ? [scratch.server?.stopImmediately()] : []),
  ])
  counts.nodeKills += victims.nodes.length
  counts.serverStops += victims.server ? 1 : 0
  onStopped(describe(victims))
  if (victims.server) await scratch.server?.start()
  for (const index of victims.nodes) running[index] = await startNode(settingsOf(crashing, index))
  await Promise.all(running.map(untilReady))
}

/** The settings have no rate limits, because the run looks for faults below them. */
export function settingsOf(
  { scratch, folder, rootKeys }: Pick<Crashing, 'scratch' | 'folder' | 'rootKeys'>,
  index: number,
): Readonly<Record<`BONDED_${string}`, string>> {
  return {
    BONDED_DATABASE_URL: scratch.url,
    BONDED_DATA_DIR: `${folder}/node-${index + 1}`,
    BONDED_ROOT_KEYS: rootKeys,
    BONDED_PUBLIC_ORIGIN: ORIGIN,
    BONDED_RATE_LIMITS: 'off',
    BONDED_CONNECTION_LIMITS: 'total=50000,network=40000,session=16',
  }
}

/** Makes a root key for one run, as BONDED_ROOT_KEYS expects it. */
export function newRootKeys(): string {
  return `prove:${randomBytes(32).toString('base64url')}`
}

async function untilAcknowledged(ledger: Ledger, random: Random): Promise<void> {
  const target = ledger.acknowledged + ROUND.least + Math.floor(random() * ROUND.spread)
  const deadline = performance.now() + ROUND_WITHIN_MS
  while (ledger.acknowledged < target && performance.now() < deadline) await wait(POLL_MS)
}

interface Victims {
  readonly nodes: readonly number[]
  readonly server: boolean
}

/** Kills some of the nodes, stops the database server, or both in the same instant. */
function pickVictims({
  nodes,
  hasServer,
  random,
}: {
  nodes: number
  hasServer: boolean
  random: Random
}): Victims {
  const server = hasServer && random() < 0.5
  const all = Array.from({ length: nodes }, (_, index) => index)
  const some = all.filter(() => random() < 0.5)
  if (server) return { nodes: some, server }
  return { nodes: some.length === 0 ? [Math.floor(random() * nodes)] : some, server }
}

function describe({ nodes, server }: Victims): string {
  const killed = nodes.length === 0 ? [] : [`kill -9 of ${nodes.length} of the nodes`]
  return [...killed, ...(server ? ['PostgreSQL stopped with -m immediate'] : [])].join(', ')
}

export function pick<T>(all: readonly T[], random: Random): T {
  return all[Math.floor(random() * all.length)] as T
}
