import type { CreatedSession } from '@bonded/contract'
import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { newKey, type TestPhone } from '../tests/harness/phone.ts'
import { respondToTasks, shedCalls } from './http-calls.ts'
import { type DoneCall, ServiceCalls } from './phones.ts'

/** The parent's messages. */
export interface Task {
  /** The ports of the nodes, which take the calls in turns. */
  readonly ports: readonly number[]
  readonly credential: string
  readonly lifecycles: number
  readonly callers: number
  /** The floor accepts a phone that is not registered. */
  readonly floor: boolean
  /** How many lifecycles begin per second. Absent: each caller begins the next when it is free. */
  readonly rate?: number
}

/** Milliseconds from sending a call to its response. */
export interface Latency {
  readonly p50: number
  readonly p99: number
}

/** The result of a task. */
export interface Load {
  /** The responses of one lifecycle, to configure the floor, and the phone's public key. */
  readonly responses: Readonly<Record<string, object>>
  readonly publicKey: string
  readonly seconds: number
  /** Calls that the service shed, which were sent again. Any such call spoils the figures. */
  readonly shed: number
  /** By call, and `lifecycle` from its due time to its end. */
  readonly latencies: Readonly<Record<string, Latency>>
}

/** All phones share one key, so that the floor needs only one. */
const key = newKey()
const responses: Record<string, string> = {}
let durations = new Map<string, number[]>()

respondToTasks(async (task: Task): Promise<Load> => {
  durations = new Map()
  const shedBefore = shedCalls()
  phone ??= await enrol(task)
  const began = performance.now()
  await (task.rate === undefined ? closedLoop(task) : openLoop(task, task.rate))
  return {
    responses: Object.fromEntries(
      Object.entries(responses).map(([name, text]) => [name, JSON.parse(text) as object]),
    ),
    publicKey: key.public_key,
    seconds: (performance.now() - began) / 1_000,
    shed: shedCalls() - shedBefore,
    latencies: Object.fromEntries([...durations].map(([name, list]) => [name, latencyOf(list)])),
  }
})

let phone: TestPhone | undefined
/** The phones without a session: the counters of one phone must rise one by one. */
const free: TestPhone[] = []

async function closedLoop(task: Task): Promise<void> {
  let left = task.lifecycles
  const caller = async () => {
    while (left-- > 0) await timedLifecycle(task, performance.now())
  }
  await Promise.all(Array.from({ length: task.callers }, caller))
}

/** Lifecycles begin at a fixed rate, no matter how many are running. */
async function openLoop(task: Task, rate: number): Promise<void> {
  const running: Promise<void>[] = []
  const began = performance.now()
  while (running.length < task.lifecycles) {
    const dueMs = began + (running.length * 1_000) / rate
    if (dueMs > performance.now()) await pause(1)
    else running.push(timedLifecycle(task, dueMs))
  }
  await Promise.all(running)
}

async function timedLifecycle(task: Task, dueMs: number): Promise<void> {
  const own = free.pop() ?? (await enrol(task))
  await lifecycle(task, own)
  free.push(own)
  note('lifecycle', performance.now() - dueMs)
}

function note(name: string, ms: number): void {
  const list = durations.get(name)
  if (list === undefined) durations.set(name, [ms])
  else list.push(ms)
}

function latencyOf(list: number[]): Latency {
  list.sort((a, b) => a - b)
  const at = (share: number) =>
    list[Math.min(list.length - 1, Math.floor(list.length * share))] ?? 0
  return { p50: at(0.5), p99: at(0.99) }
}

async function enrol(task: Task): Promise<TestPhone> {
  if (task.floor)
    return {
      ...key,
      device_id: `dev_${'0'.repeat(22)}`,
      subject_id: `sub_${'0'.repeat(22)}`,
      device_token: 'none',
      key_id: 'none',
      counter: 0,
    }
  // The first phone has the key with which the floor verifies. The others have their own.
  return callsOf(task).enrol(phone === undefined ? key : newKey())
}

/** Create, channel open, claim, evidence, attest, frame received, get, complete. */
async function lifecycle(task: Task, own: TestPhone): Promise<void> {
  const calls = callsOf(task)
  const bond = await calls.create(own)
  const opening = performance.now()
  const channel = watch(task, bond.created)
  await channel.frames(1)
  note('channel', performance.now() - opening)
  await calls.claim(bond)
  await calls.fetchEvidence(bond)
  await calls.attest(bond, calls.sign(bond))
  // hello, scanned, evaluating, bonded; the floor sends as many.
  await channel.frames(4)
  await calls.get(bond)
  await calls.complete(bond)
  await channel.frames(5)
  channel.close()
}

function watch(task: Task, session: CreatedSession) {
  const socket = new WebSocket(
    `ws://127.0.0.1:${nextPort(task)}/sessions/${session.id}`,
    ['bonded.v1', `watch.${session.watch_token}`],
    {
      perMessageDeflate: false,
    },
  )
  let seen = 0
  let awaited = Number.POSITIVE_INFINITY
  let reached = () => {}
  socket.on('message', () => {
    seen += 1
    if (seen >= awaited) reached()
  })
  socket.on('error', (failure) => {
    throw failure
  })
  return {
    frames(count: number): Promise<void> {
      if (seen >= count) return Promise.resolve()
      awaited = count
      return new Promise((resolve) => {
        reached = resolve
      })
    },
    close: () => socket.close(),
  }
}

let turns = 0

function nextPort({ ports }: Task): number {
  return ports[turns++ % ports.length] ?? 0
}

function callsOf(task: Task): ServiceCalls {
  return new ServiceCalls({ port: () => nextPort(task), credential: task.credential }, noteCall)
}

function noteCall({ method, path, ms, response }: DoneCall): void {
  const name =
    method === 'GET' ? 'get' : path === '/sessions' ? 'create' : (path.split('/').at(-1) ?? '')
  note(name, ms)
  responses[name] = response
}
