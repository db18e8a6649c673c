import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Workflow } from '@bonded/contract'
import type { Cluster, ClusterNode } from '../harness/cluster.ts'
import type { TestPhone } from '../harness/phone.ts'
import { until } from '../harness/process.ts'
import { choose, random } from '../pressure/chance.ts'
import { type Exchange, exchangeWith, NoResponse } from '../pressure/exchange.ts'
import { explain } from '../pressure/history-check.ts'
import { randomCall } from '../pressure/random-calls.ts'
import { RecordedSession, type Wire } from '../pressure/recorder.ts'
import { registerPhone, type Shop, SHOP_ORIGIN } from '../pressure/running.ts'

/**
 * The callers of a session, and the tasks of each. A session with few calls allows fewer orders,
 * and one with many goes through more states.
 */
const CALLERS = { least: 2, spread: 3 } as const
const TASKS_EACH = { least: 1, spread: 2 } as const
/** A client gives up; its call may still take effect. */
const RESPONSE_WITHIN_MS = 10_000
const WORKS_AGAIN_WITHIN_MS = 120_000
/** The first pause before a call is repeated, and the longest. */
const RETRY_MS = { first: 20, longest: 1_000 } as const

/**
 * Lifetimes beyond the duration of a session: these nodes have the real clock. The end of a
 * lifetime is a subject of histories.test.ts, which moves the clock.
 */
const WORKFLOW: Workflow = {
  name: 'w',
  actions: ['a'],
  require: ['local_auth'],
  session_ttl_seconds: 900,
  challenge_ttl_seconds: 120,
  bonded_ttl_seconds: 900,
}

/** What a load has done so far. */
export interface Counts {
  sessions: number
  calls: number
  lost: number
}

/** Creates the tenant of a load, in the database of the cluster. */
export async function addTenant({ operator }: Cluster): Promise<Shop> {
  const workflowFile = join(operator.folder, 'workflows.json')
  writeFileSync(workflowFile, JSON.stringify([WORKFLOW]))
  const created = await operator.jsonMeanwhile(
    'tenant',
    'create',
    '--name=Shop',
    '--allow-similar-name',
    '--environment=sandbox',
    `--origin=${SHOP_ORIGIN}`,
    `--workflow-file=${workflowFile}`,
  )
  return { server: created.server_credential, publishable: created.publishable_key }
}

/**
 * Runs sessions with concurrent callers, each call at a random node, and checks that one order of
 * the calls explains every response of a session.
 *
 * @param load.inProgress sessions at once; a broken node delays only those that call it
 * @param load.goOn called before each session; false ends the load
 * @param load.ended called with each session after its last call
 */
export async function runLoad(load: {
  readonly nodes: readonly ClusterNode[]
  readonly shop: Shop
  readonly inProgress: number
  readonly goOn: (counts: Counts) => boolean
  readonly ended?: (session: RecordedSession) => void
}): Promise<Counts> {
  using exchange = exchangeWith(() => Number(new URL(choose(load.nodes).origin).port), {
    responseWithinMs: RESPONSE_WITHIN_MS,
    retries: false,
  })
  const wire = { exchange: atAnotherNode(exchange), shop: load.shop, now: () => Date.now() }
  const counts = { sessions: 0, calls: 0, lost: 0 }
  const failed = new AbortController()
  const runOneByOne = async () => {
    const phone = () => retried(() => registerPhone(wire.exchange))
    const pair = [await phone(), await phone()]
    while (!failed.signal.aborted && load.goOn(counts)) {
      const recorded = await runSession(wire, pair)
      const { history } = recorded
      load.ended?.(recorded)
      counts.sessions += 1
      counts.calls += history.length
      counts.lost += history.filter(({ response }) => response === undefined).length
    }
  }
  const ends = await Promise.allSettled(
    Array.from({ length: load.inProgress }, () =>
      runOneByOne().catch((failure: unknown) => {
        failed.abort()
        throw failure
      }),
    ),
  )
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  return counts
}

/** A node that does not accept connections has received nothing, so another one is called. */
function atAnotherNode(exchange: Exchange): Exchange {
  return async (...call) => {
    for (;;) {
      try {
        return await exchange(...call)
      } catch (failure) {
        if (codeOf(failure) !== 'ECONNREFUSED') throw failure
        await wait(1)
      }
    }
  }
}

async function runSession(wire: Wire, pair: readonly TestPhone[]): Promise<RecordedSession> {
  // A backend repeats a create without a response with the same Idempotency-Key.
  const key = crypto.randomUUID()
  const recorded = await retried(() => RecordedSession.create(wire, key))
  await Promise.all(Array.from({ length: drawn(CALLERS) }, () => runCaller(recorded, pair)))
  await retried(() => recorded.read('backend'))
  explain(recorded.session.id, recorded.history)
  return recorded
}

async function runCaller(recorded: RecordedSession, pair: readonly TestPhone[]): Promise<void> {
  // The history has a lost call without a response. The caller continues.
  for (let left = drawn(TASKS_EACH); left > 0; left--)
    await randomCall(recorded, pair).catch(throwUnlessLost)
}

const drawn = ({ least, spread }: { readonly least: number; readonly spread: number }) =>
  least + random(spread)

/**
 * Repeats a call until it has a response. The pauses grow: on a slow machine, quick repetitions of
 * the creates that a node rejects as overloaded would keep it overloaded.
 */
export function retried<T>(call: () => Promise<T>): Promise<T> {
  let pauseMs: number = RETRY_MS.first
  return until(
    () =>
      call().then(
        (value) => ({ value }),
        async (failure: unknown) => {
          throwUnlessLost(failure)
          await wait(pauseMs)
          pauseMs = Math.min(2 * pauseMs, RETRY_MS.longest)
          return undefined
        },
      ),
    WORKS_AGAIN_WITHIN_MS,
  ).then(({ value }) => value)
}

/** A broken connection, no response in time, or a 503: the call may have had an effect. */
function throwUnlessLost(failure: unknown): void {
  const isLost =
    failure instanceof NoResponse ||
    LOST_CONNECTION.has(codeOf(failure) ?? '') ||
    (failure instanceof Error && failure.message.includes(' answered 503 '))
  if (!isLost) throw failure
}
const LOST_CONNECTION = new Set(['ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ECONNABORTED'])

const codeOf = (failure: unknown): string | undefined =>
  failure instanceof Error && 'code' in failure ? String(failure.code) : undefined
