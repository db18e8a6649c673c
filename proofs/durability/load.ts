import { COMPLETION_SECRET_HEADER } from '@bonded/contract'
import { randomUUID } from 'node:crypto'
import type { CreatedSession } from '@bonded/contract'
import {
  createSimulatedPhone,
  PhoneError,
  type Random,
  type SimulatedPhone,
} from '@bonded/simulator'
import type { Client } from './client.ts'

/** A caller without a response waits this long, so that a stopped node is not flooded. */
const PAUSE_MS = 50
/** Attempts of a backend to repeat a request whose response was lost. */
const ATTEMPTS = 20

/** What the callers need. */
export interface LoadOptions {
  readonly client: Client
  /** The origin that phones sign: the public origin of the nodes. */
  readonly origin: string
  /** The server credential of the run's tenant. */
  readonly credential: string
  /** Decides what a client does with each session. */
  readonly random: Random
  readonly signal: AbortSignal
}

/** A tenant's backend and one phone, which bond one session after another until the signal. */
export async function runCaller(options: LoadOptions): Promise<void> {
  const { signal } = options
  const phone = phoneOf(options)
  while (!signal.aborted) await runSession(options, phone).catch(ignoreLoss)
}

export function phoneOf({ client, origin, random }: Omit<LoadOptions, 'signal'>): SimulatedPhone {
  return createSimulatedPhone({
    origin,
    random,
    fetch: (url, { signal: _its, redirect: _never, ...request }) =>
      client.send({ ...request, path: url.slice(origin.length) }),
  })
}

/** Creates a session of a page. Undefined unless it is acknowledged. */
export function createOnce({
  client,
  credential,
}: Pick<LoadOptions, 'client' | 'credential'>): () => Promise<CreatedSession | undefined> {
  const create = {
    method: 'POST',
    path: '/api/v1/sessions',
    headers: {
      authorization: `Bearer ${credential}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    },
    body: JSON.stringify({ workflow: 'prove', action: 'durability' }),
  } as const
  return async () => {
    const response = await client.send(create)
    return response.status === 201
      ? (JSON.parse(await response.text()) as CreatedSession)
      : undefined
  }
}

async function runSession(options: LoadOptions, phone: SimulatedPhone): Promise<void> {
  const { client, credential, random, signal } = options
  const backend = { authorization: `Bearer ${credential}` }
  const session = await repeat(signal, createOnce(options))
  if (session === undefined) return
  client.watch(session)
  const path = `/api/v1/sessions/${session.id}`
  const kill = () => client.send({ method: 'DELETE', path, headers: backend })
  const complete = () =>
    client.send({
      method: 'POST',
      path: `${path}/form-completed`,
      headers: { ...backend, [COMPLETION_SECRET_HEADER]: session.completion_secret },
    })
  const outcome = random() < 0.1 ? 'decline' : 'approve'
  // Sometimes beside a kill, so that a crash may coincide with a race.
  const races = random() < 0.1
  await Promise.all([phone.run(session.qr_payload, outcome), ...(races ? [kill()] : [])])
  if (random() < 0.3) await client.send({ method: 'GET', path, headers: backend })
  await Promise.all(random() < 0.2 ? [complete(), kill()] : [complete()])
}

/** Repeats an act until it has a result, the attempts are used up, or the run ends. */
export async function repeat<T>(
  signal: AbortSignal,
  act: () => Promise<T | undefined>,
  attempts: number = ATTEMPTS,
): Promise<T | undefined> {
  for (let attempt = 0; attempt < attempts && !signal.aborted; attempt++) {
    const result = await act().catch(ignoreLoss)
    if (result !== undefined) return result
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
  return undefined
}

/** Lost responses are the purpose of the run. Anything else is a defect of the tool. */
export async function ignoreLoss(failure: unknown): Promise<undefined> {
  const isLoss =
    failure instanceof PhoneError ||
    failure instanceof DOMException ||
    // fetch throws it where a connection fails.
    (failure instanceof TypeError && failure.message === 'fetch failed') ||
    (failure instanceof TypeError && failure.message === 'terminated')
  if (!isLoss) throw failure
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  return undefined
}
