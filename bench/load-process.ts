import {
  canonicalJson,
  type CreatedSession,
  type PhoneSession,
  type VerifiedEvidence,
} from '@bonded/contract'
import { setTimeout as pause } from 'node:timers/promises'
import { WebSocket } from 'ws'
import {
  attestation,
  carriedSignals,
  evidenceRequest,
  newKey,
  type TestPhone,
} from '../tests/harness/phone.ts'
import { respondToTasks, send, shedCalls } from './http-calls.ts'

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
  /** Evidence without the motion of a minute, as a phone without sensors sends it. */
  readonly short?: boolean
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
let responses: Record<string, object> = {}
let durations = new Map<string, number[]>()

respondToTasks(async (task: Task): Promise<Load> => {
  durations = new Map()
  const shedBefore = shedCalls()
  phone ??= await enrol(task)
  const began = performance.now()
  await (task.rate === undefined ? closedLoop(task) : openLoop(task, task.rate))
  return {
    responses,
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
  const { challenge } = (await call(task, 'POST', '/devices/challenges')) as { challenge: string }
  // The first phone has the key with which the floor verifies. The others have their own.
  const own = phone === undefined ? key : newKey()
  const registered = (await call(task, 'POST', '/devices', {
    body: { format: 'software', challenge, public_key: own.public_key },
  })) as Omit<TestPhone, 'counter' | 'privateKey'>
  return { ...registered, privateKey: own.privateKey, counter: 0 }
}

/** Create, channel open, claim, evidence, attest, frame received, get, complete. */
async function lifecycle(task: Task, own: TestPhone): Promise<void> {
  const backend = { token: task.credential }
  const mobile = { token: own.device_token }
  const created = (await call(task, 'POST', '/sessions', {
    ...backend,
    body: { workflow: 'w', action: 'a' },
  })) as CreatedSession
  const opening = performance.now()
  const channel = watch(task, created)
  await channel.frames(1)
  note('channel', performance.now() - opening)
  const view = (await call(task, 'POST', `/sessions/${created.id}/claim`, {
    ...mobile,
    body: { nonce: created.nonce, device_id: own.device_id },
  })) as PhoneSession
  const session = { ...view, id: created.id }
  const { local_auth, ...sensors } = carriedSignals(Date.parse(view.server_time))
  const signals = task.short === true ? { local_auth } : { local_auth, ...sensors }
  const { verified_evidence } = (await call(task, 'POST', '/evidence', {
    ...mobile,
    body: evidenceRequest(own, session, signals, view.server_time),
  })) as { verified_evidence: VerifiedEvidence }
  await call(task, 'POST', '/attestations', {
    ...mobile,
    body: attestation(own, session, verified_evidence, view.server_time),
  })
  // hello, scanned, evaluating, bonded; the floor sends as many.
  await channel.frames(4)
  await call(task, 'GET', `/sessions/${created.id}`, backend)
  await call(task, 'POST', `/sessions/${created.id}/form-completed`, {
    ...backend,
    secret: created.completion_secret ?? '',
  })
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

async function call(
  task: Task,
  method: string,
  path: string,
  given: { token?: string; body?: object; secret?: string } = {},
): Promise<object> {
  const headers: Record<string, string> = {}
  if (given.token !== undefined) headers.authorization = `Bearer ${given.token}`
  if (given.secret !== undefined) headers['x-bond-completion-secret'] = given.secret
  if (given.body !== undefined) headers['content-type'] = 'application/json'
  const payload = given.body === undefined ? {} : { payload: canonicalJson(given.body) }
  const name =
    method === 'GET' ? 'get' : path === '/sessions' ? 'create' : (path.split('/').at(-1) ?? '')
  const began = performance.now()
  const text = await send({
    port: nextPort(task),
    method,
    path: `/api/v1${path}`,
    headers,
    ...payload,
  })
  note(name, performance.now() - began)
  const response = JSON.parse(text) as object
  responses[name] = response
  return response
}
