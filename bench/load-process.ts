import {
  canonicalJson,
  type CreatedSession,
  type PhoneSession,
  type VerifiedEvidence,
} from '@bonded/contract'
import { WebSocket } from 'ws'
import {
  attestation,
  carriedSignals,
  evidenceRequest,
  newKey,
  type TestPhone,
} from '../packages/service/tests/harness/phone.ts'
import { answerTasks, send } from './http-calls.ts'

/** The parent's messages. */
export interface Task {
  readonly port: number
  readonly credential: string
  readonly lifecycles: number
  readonly callers: number
  /** The floor accepts a phone that is not registered. */
  readonly floor: boolean
}

/** The responses of one lifecycle, to configure the floor, and the phone's public key. */
export interface FloorSetup {
  readonly answers: Readonly<Record<string, object>>
  readonly publicKey: string
}

/** All phones share one key, so that the floor needs only one. */
const key = newKey()
let answers: Record<string, object> = {}

answerTasks(async (task: Task): Promise<FloorSetup> => {
  await run(task)
  return { answers, publicKey: key.public_key }
})

let phone: TestPhone | undefined
async function run(task: Task): Promise<void> {
  phone ??= await enrol(task)
  let left = task.lifecycles
  const caller = async () => {
    const own = await phoneOf(task)
    while (left-- > 0) await lifecycle(task, own)
  }
  await Promise.all(Array.from({ length: task.callers }, caller))
}

const phones: TestPhone[] = []
async function phoneOf(task: Task): Promise<TestPhone> {
  if (task.floor && phone !== undefined) return phone
  const own = await enrol(task)
  phones.push(own)
  return own
}

/** One phone per caller, because the counters of one phone must rise one by one. */
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
  const channel = watch(task, created)
  await channel.frames(1)
  const view = (await call(task, 'POST', `/sessions/${created.id}/claim`, {
    ...mobile,
    body: { nonce: created.nonce, device_id: own.device_id },
  })) as PhoneSession
  const session = { ...view, id: created.id }
  const signals = carriedSignals(Date.parse(view.server_time))
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
    `ws://127.0.0.1:${task.port}/sessions/${session.id}`,
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
  const answer = JSON.parse(
    await send({ port: task.port, method, path: `/api/v1${path}`, headers, ...payload }),
  ) as object
  const name =
    method === 'GET' ? 'get' : path === '/sessions' ? 'create' : (path.split('/').at(-1) ?? '')
  answers[name] = answer
  return answer
}
