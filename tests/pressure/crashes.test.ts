import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { systemClock } from '../../packages/store/src/clock/system-clock.ts'
import { composeService } from '../../packages/server/src/compose.ts'
import type { TestPhone } from '../harness/phone.ts'
import { IS_FRESH } from '../random.ts'
import { choose, random } from './chance.ts'
import { exchangeWith } from './exchange.ts'
import { eventsOf, explain, foldOf, checkFile } from './history-check.ts'
import { RecordedSession, type Wire } from './recorder.ts'
import {
  addShop,
  attestationAt,
  registerPhone,
  ROOT_KEY,
  run,
  SETTINGS,
  workFolder,
} from './running.ts'
import type { Fault } from './service-process.ts'

const KILLS = IS_FRESH ? 50 : 15
const DEATHS_EACH = IS_FRESH ? 10 : 5
const CALLERS = 8
/**
 * The latest point of a crash in its round: a kill after so many responses, or a fault at so many
 * writes.
 */
const LONGEST_ROUND = 120

const folder = workFolder()
const { databaseFile } = folder
let port = 0
const exchange = exchangeWith(() => port)
let service: ChildProcess | undefined
after(() => {
  service?.kill('SIGKILL')
  exchange[Symbol.dispose]()
  folder[Symbol.dispose]()
})

/** A tenant, created by a service that then shuts down cleanly. */
const first = await run({ databaseFile, clock: systemClock })
const shop = await addShop(first.service)
await first[Symbol.asyncDispose]()

let responses = 0
/** The number of the last response before the kill. */
let killAt = Number.POSITIVE_INFINITY
const wire: Wire = {
  shop,
  now: () => Date.now(),
  exchange: async (...call) => {
    const reply = await exchange(...call)
    responses += 1
    if (responses === killAt) service?.kill('SIGKILL')
    return reply
  },
}

/** Starts the service as one node process, without a wrapper that a kill would hit instead. */
async function start(fault?: Fault): Promise<ChildProcess> {
  const child = fork(
    join(import.meta.dirname, 'service-process.ts'),
    [JSON.stringify({ databaseFile, fault })],
    {
      execArgv: ['--conditions=@bonded/source'],
    },
  )
  const [message] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => [undefined]),
  ])
  assert.equal(typeof message, 'number', 'the service starts on the database that the crash left')
  port = Number(message)
  return child
}

/** What the callers of a round received, and what remains unknown to them. */
interface Round {
  readonly sessions: RecordedSession[]
  /**
   * The Idempotency-Key of every create, and the session in its response; undefined when it was
   * lost.
   */
  readonly creates: Map<string, string | undefined>
}

/** Bonds one session after another until the service dies. */
async function caller(phone: TestPhone, { sessions, creates }: Round): Promise<void> {
  for (;;) {
    const key = crypto.randomUUID()
    creates.set(key, undefined)
    const recorded = await RecordedSession.create(wire, key)
    creates.set(key, recorded.session.id)
    sessions.push(recorded)
    await recorded.claim(phone)
    const assertion = await recorded.evidence(phone, choose(['good', 'good', 'good', 'weak']))
    if (assertion !== undefined) await recorded.attest(phone, assertion)
    const ends = [() => recorded.complete(), () => recorded.kill(), () => recorded.read('backend')]
    // At once, so that a crash may coincide with a race.
    await Promise.all([choose(ends)(), choose(ends)()])
  }
}

/** Sends load until the process has died of SIGKILL. */
async function loadUntilDeath(phones: readonly TestPhone[], child: ChildProcess): Promise<Round> {
  const round: Round = { sessions: [], creates: new Map() }
  const died = once(child, 'exit')
  const ended = await Promise.allSettled(phones.map((phone) => caller(phone, round)))
  const [, signal] = await died
  assert.equal(signal, 'SIGKILL')
  for (const outcome of ended)
    if (outcome.status === 'rejected' && !isLostResponse(outcome.reason)) throw outcome.reason
  return round
}

function isLostResponse(failure: unknown): boolean {
  return (
    failure instanceof Error &&
    'code' in failure &&
    ['ECONNRESET', 'ECONNREFUSED', 'EPIPE'].includes(String(failure.code))
  )
}

/** Every acknowledged call took effect exactly once, and every unacknowledged call at most once. */
async function checkRound({ sessions, creates }: Round): Promise<void> {
  for (const recorded of sessions) {
    await recorded.read('backend')
    explain(recorded.session.id, recorded.history)
    const { entries, state } = (
      await exchange('GET', `/sessions/${recorded.session.id}/timeline`, { token: shop.server })
    ).body
    assert.equal(foldOf(eventsOf(entries).map(({ kind }) => kind)).state, state)
  }
  for (const [key, acknowledged] of creates) {
    const again = await RecordedSession.create({ ...wire, exchange }, key)
    if (acknowledged !== undefined)
      assert.equal(
        again.session.id,
        acknowledged,
        'an acknowledged create returns the same session again',
      )
  }
}

/** The highest counter that the service accepted from each phone, by its responses. */
function acceptedCounters(rounds: readonly Round[]): Map<string, number> {
  const accepted = new Map<string, number>()
  for (const { call, response } of rounds.flatMap(({ sessions }) =>
    sessions.flatMap(({ history }) => history),
  )) {
    const counted =
      (call.do === 'evidence' || call.do === 'attest') &&
      response !== undefined &&
      response.rejected === undefined
    if (counted) accepted.set(call.phone, Math.max(accepted.get(call.phone) ?? 0, call.counter))
  }
  return accepted
}

function checkRows(rounds: readonly Round[], phones: readonly TestPhone[]): void {
  using database = new DatabaseSync(databaseFile, { readOnly: true })
  const figure = (sql: string) => Object.values(database.prepare(sql).get() ?? {})[0]
  const keys = rounds.reduce((sum, { creates }) => sum + creates.size, 0)
  assert.deepEqual(
    [figure('select count(*) from session'), figure('select count(*) from idempotency')],
    [keys, keys],
    'one session per key',
  )
  const accepted = acceptedCounters(rounds)
  for (const phone of phones) {
    const stored = Number(
      database.prepare('select counter from device where id = ?').get(phone.device_id)?.counter,
    )
    const acknowledged = accepted.get(phone.device_id) ?? 0
    assert.ok(
      stored >= acknowledged && stored <= phone.counter,
      `counter ${stored}, acknowledged ${acknowledged}, signed ${phone.counter}`,
    )
  }
}

test(`after ${KILLS} kills -9 under load, and ${DEATHS_EACH} deaths at each point around a commit, every acknowledged call took effect exactly once`, async (t) => {
  const faults = (['write and commit', 'commit and reply'] as const).flatMap((between) =>
    Array.from({ length: DEATHS_EACH }, () => between),
  )
  const rounds: Round[] = []
  let phones: readonly TestPhone[] = []
  for (const between of [...Array.from({ length: KILLS }, () => undefined), ...faults]) {
    service = await start(between && { between, atWrite: 1 + random(LONGEST_ROUND) })
    if (phones.length === 0)
      phones = await Promise.all(Array.from({ length: CALLERS }, () => registerPhone(exchange)))
    const last = rounds.at(-1)
    if (last !== undefined) await checkRound(last)
    if (between === undefined) killAt = responses + 1 + random(LONGEST_ROUND)
    else service.send('begin to count')
    rounds.push(await loadUntilDeath(phones, service))
  }
  service = await start()
  await checkRound(rounds.at(-1) as Round)
  checkFile(databaseFile)
  checkRows(rounds, phones)
  const calls = rounds.flatMap(({ sessions }) => sessions.flatMap(({ history }) => history))
  t.diagnostic(
    `${rounds.length} crashes, ${calls.length} calls, ${calls.filter(({ response }) => response === undefined).length} lost answers`,
  )
})

test('the writing connection uses the pragmas on which crash safety depends', async () => {
  using own = workFolder()
  const { store } = composeService({
    databaseFile: own.databaseFile,
    rootKeys: [ROOT_KEY],
    settings: SETTINGS,
    clock: systemClock,
    attestation: attestationAt(systemClock),
  })
  const pragma = (name: string) =>
    store.write(function* () {
      const [row] = (yield { text: `pragma ${name}`, values: [] }) as readonly Readonly<
        Record<string, unknown>
      >[]
      return Object.values(row ?? {})[0]
    })
  const effective = [
    await pragma('journal_mode'),
    await pragma('synchronous'),
    await pragma('foreign_keys'),
    await pragma('busy_timeout'),
  ]
  await store[Symbol.asyncDispose]()
  const FULL = 2
  assert.deepEqual(effective, ['wal', FULL, 1, 250])
})
