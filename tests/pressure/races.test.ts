import { after, test } from 'node:test'
import type { SessionId } from '@bonded/contract'
import { expireSessions } from '../../packages/core/src/operations/maintenance/expire-sessions.ts'
import type { TestPhone } from '../harness/phone.ts'
import { TestClock } from '../harness/test-clock.ts'
import { testDatabase } from '../../packages/store/tests/servers/test-database.ts'
import { IS_FRESH } from '../random.ts'
import { choose, pause, random } from './chance.ts'
import { exchangeWith } from './exchange.ts'
import { checkDatabase, checkHistory, checkFile } from './history-check.ts'
import { type Assertion, RecordedSession, tick, type Wire } from './recorder.ts'
import { addShop, registerPhone, run, workFolder } from './running.ts'
import { SESSION_TTL_MS } from './session-model.ts'

/** Races per pair, and callers per race, half of them for each of the two calls. */
const RACES = Number(process.env.PRESSURE_RACES ?? (IS_FRESH ? 500 : 100))
const CALLERS = 8
/** Races in progress at once. They share group commits, as unrelated calls do, but no session. */
const BATCH = Math.min(25, RACES)

const folder = workFolder()
const clock = new TestClock()
const postgres = await testDatabase()
const parts = { databaseFile: folder.databaseFile, clock, postgres }
const running = await run(parts)
// On PostgreSQL a second node works on the same sessions. Each call goes to one of them.
const nodes = postgres === undefined ? [running] : [running, await run(parts)]
const exchange = exchangeWith(() => choose(nodes).port)
after(async () => {
  exchange[Symbol.dispose]()
  for (const node of nodes) await node[Symbol.asyncDispose]()
  await postgres?.drop()
  folder[Symbol.dispose]()
})
const { service } = running
const wire: Wire = { exchange, shop: await addShop(service), now: () => clock.now() }

/** A session at the start of its race, its three phones, and their prepared requests. */
interface Start {
  readonly recorded: RecordedSession
  readonly phones: readonly [TestPhone, TestPhone, TestPhone]
  readonly assertions: readonly Assertion[]
}

interface Racer {
  readonly name: string
  /** The n-th caller's call. */
  readonly call: (start: Start, n: number) => Promise<void>
  /** How many phones need their evidence before the race. */
  readonly evidence: 0 | 1 | 3
  /**
   * For calls that take effect in one state only. A call that needs a bonded session gets one,
   * unless the other call bonds it.
   */
  readonly wants?: 'pending' | 'bonded'
}

const attestBy =
  (phones: 1 | 3) =>
  async ({ recorded, phones: all, assertions }: Start, n: number): Promise<void> => {
    const assertion = assertions[n % phones]
    if (assertion !== undefined) await recorded.attest(all[n % phones] as TestPhone, assertion)
  }

const RACERS: readonly Racer[] = [
  {
    name: 'claim',
    call: ({ recorded, phones }, n) => recorded.claim(phones[n % 3] as TestPhone),
    evidence: 0,
    wants: 'pending',
  },
  {
    name: 'decline',
    call: ({ recorded, phones }, n) =>
      recorded.decline(phones[n % 2] as TestPhone, n > 3 ? 'user_unexpected' : 'user_declined'),
    evidence: 0,
    wants: 'pending',
  },
  {
    name: 'evidence',
    call: async ({ recorded, phones }, n) =>
      void (await recorded.evidence(phones[n % 3] as TestPhone)),
    evidence: 0,
    wants: 'pending',
  },
  { name: 'attest by one phone', call: attestBy(1), evidence: 1, wants: 'pending' },
  { name: 'attest by three phones', call: attestBy(3), evidence: 3, wants: 'pending' },
  {
    name: 'form-completed',
    call: ({ recorded }) => recorded.complete(),
    evidence: 0,
    wants: 'bonded',
  },
  { name: 'DELETE', call: ({ recorded }) => recorded.kill(), evidence: 0 },
  { name: 'cancel', call: ({ recorded }) => recorded.cancel(), evidence: 0 },
  {
    name: 'create with the same key',
    call: ({ recorded }) => recorded.read('create'),
    evidence: 0,
  },
  { name: 'the end of its time', call: async ({ recorded }) => sweep(recorded), evidence: 0 },
]
const END_OF_TIME = RACERS.at(-1)

async function sweep(recorded: RecordedSession): Promise<void> {
  await pause(8)
  const calledAt = tick()
  await expireSessions(service)
  // On PostgreSQL a sweep leaves a session that another call has locked to the next sweep.
  const respondedAt = postgres === undefined ? tick() : Number.POSITIVE_INFINITY
  recorded.recordChange({ do: 'sweep' }, { calledAt, respondedAt })
}

const phones = await Promise.all(Array.from({ length: 3 * BATCH }, () => registerPhone(exchange)))

async function start(
  at: number,
  { first, second }: { first: Racer; second: Racer },
): Promise<Start> {
  const own = phones.slice(3 * at, 3 * at + 3) as unknown as Start['phones']
  const recorded = await RecordedSession.create(wire)
  const assertions: Assertion[] = []
  const startsBonded =
    [first, second].some(({ wants }) => wants === 'bonded') &&
    ![first, second].some(({ wants }) => wants === 'pending')
  const count = startsBonded ? 1 : Math.max(first.evidence, second.evidence)
  for (const phone of own.slice(0, count)) {
    const assertion = await recorded.evidence(phone)
    if (assertion !== undefined) assertions.push(assertion)
  }
  if (startsBonded) await recorded.attest(own[0], assertions[0] as Assertion)
  return { recorded, phones: own, assertions }
}

/** The clock passes the end of all sessions, in one step, somewhere in the race. */
async function endOfTime(starts: readonly Start[], began: number): Promise<void> {
  await pause(12)
  // After a response, so that the calls that arrived with it fall on both sides of the end:
  // evaluated before, committed after.
  await starts[0]?.recorded.read('backend')
  const calledAt = tick()
  clock.advance(began + 2 * SESSION_TTL_MS - clock.now())
  const respondedAt = tick()
  for (const { recorded } of starts) {
    recorded.recordChange({ do: 'wait', until: 2 * SESSION_TTL_MS }, { calledAt, respondedAt })
    // The sweep of any race, and the service's own, may expire every session.
    recorded.recordChange({ do: 'sweep' }, { calledAt, respondedAt: Number.POSITIVE_INFINITY })
  }
}

async function race(first: Racer, second: Racer): Promise<void> {
  const began = clock.now()
  const starts = await Promise.all(
    Array.from({ length: BATCH }, (_, index) => start(index, { first, second })),
  )
  const calls = starts.flatMap((begun) =>
    Array.from({ length: CALLERS }, async (_, n) => {
      // Spread over several turns of the loop: some share a group commit, and some arrive in the
      // next.
      await pause(random(2) * 4)
      await (n % 2 === 0 ? first : second).call(begun, n >> 1)
    }),
  )
  const withExpiry = first === END_OF_TIME || second === END_OF_TIME
  await Promise.all([...calls, ...(withExpiry ? [endOfTime(starts, began)] : [])])
  await Promise.all(starts.map(({ recorded }) => recorded.read('backend')))
  for (const { recorded } of starts)
    await checkHistory(service, recorded.session.id as SessionId, recorded.history)
  clock.advance(3 * SESSION_TTL_MS)
  await expireSessions(service)
}

for (const [index, first] of RACERS.entries()) {
  for (const second of RACERS.slice(index)) {
    test(`${first.name} and ${second.name}: ${RACES} races of ${CALLERS} callers each have one order, and one event and one step of seq per move`, async () => {
      for (let run = 0; run < RACES; run += BATCH) await race(first, second)
    })
  }
}

test('the database is consistent after all races', async () => {
  if (postgres === undefined) checkFile(folder.databaseFile)
  else await checkDatabase(postgres.url)
})
