import { after, test } from 'node:test'
import type { SessionId } from '@bonded/contract'
import { expireSessions } from '../../packages/core/src/operations/maintenance/expire-sessions.ts'
import { TestClock } from '../harness/test-clock.ts'
import type { TestPhone } from '../harness/phone.ts'
import { IS_FRESH } from '../random.ts'
import { exchangeWith } from './exchange.ts'
import { checkHistory, checkFile } from './history-check.ts'
import { choose, pause } from './chance.ts'
import { randomCall } from './random-calls.ts'
import { RecordedSession, tick, type Wire } from './recorder.ts'
import { addShop, registerPhone, run, workFolder } from './running.ts'
import { BONDED_TTL_MS, SESSION_TTL_MS } from './session-model.ts'

/** Sessions recorded per run. One order must explain each. */
const SESSIONS = IS_FRESH ? 20_000 : 5_000
/** Sessions per test, so that a failure is reported early. */
const SESSIONS_A_TEST = 2_500
/** Sessions in progress at once. They share group commits, and the one clock. */
const BATCH = 40
const CALLERS = 4
const CALLS_EACH = 2

const folder = workFolder()
const clock = new TestClock()
const running = await run({ databaseFile: folder.databaseFile, clock })
const exchange = exchangeWith(() => running.port)
after(async () => {
  exchange[Symbol.dispose]()
  await running[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})
const { service } = running
const wire: Wire = { exchange, shop: await addShop(service), now: () => clock.now() }
/**
 * Two phones for each session of a batch, because a phone's counters are part of one session's
 * history.
 */
const phones = await Promise.all(Array.from({ length: 2 * BATCH }, () => registerPhone(exchange)))

async function caller(recorded: RecordedSession, pair: readonly TestPhone[]): Promise<void> {
  for (let made = 0; made < CALLS_EACH; made++) await randomCall(recorded, pair)
}

/**
 * Advances the clock in the middle of a batch, at most twice: first past the end of pending
 * sessions, then past the end of bonded ones.
 */
async function passTime(batch: readonly RecordedSession[]): Promise<void> {
  const began = clock.now()
  for (const until of choose([
    [],
    [],
    [SESSION_TTL_MS],
    [SESSION_TTL_MS, BONDED_TTL_MS],
    [BONDED_TTL_MS],
  ])) {
    await pause(60)
    // After a response, so that the calls that arrived with it fall on both sides: evaluated
    // before, committed after.
    await batch[0]?.read('backend')
    const calledAt = tick()
    clock.advance(began + until - clock.now())
    const respondedAt = tick()
    for (const recorded of batch) {
      recorded.recordChange({ do: 'wait', until }, { calledAt, respondedAt })
      // The service's own sweep may come first.
      recorded.recordChange({ do: 'sweep' }, { calledAt, respondedAt: Number.POSITIVE_INFINITY })
    }
    await pause(10)
    await sweep(batch)
  }
}

async function sweep(batch: readonly RecordedSession[]): Promise<void> {
  const calledAt = tick()
  await expireSessions(service)
  const respondedAt = tick()
  for (const recorded of batch) recorded.recordChange({ do: 'sweep' }, { calledAt, respondedAt })
}

for (let from = 0; from < SESSIONS; from += SESSIONS_A_TEST) {
  test(`one order explains every response and every stored event of sessions ${from + 1} to ${from + SESSIONS_A_TEST} under random calls`, async () => {
    for (let made = 0; made < SESSIONS_A_TEST; made += BATCH) {
      const batch = await Promise.all(
        Array.from({ length: BATCH }, () => RecordedSession.create(wire)),
      )
      const calls = batch.flatMap((recorded, index) =>
        Array.from({ length: CALLERS }, () =>
          caller(recorded, phones.slice(2 * index, 2 * index + 2)),
        ),
      )
      await Promise.all([...calls, passTime(batch)])
      await Promise.all(batch.map((recorded) => recorded.read('backend')))
      for (const recorded of batch)
        await checkHistory(service, recorded.session.id as SessionId, recorded.history)
      // Ends the sessions of this batch, so that the next batch's sweep does not reach them.
      clock.advance(SESSION_TTL_MS + BONDED_TTL_MS)
      await expireSessions(service)
    }
    exchange.hangUp()
    checkFile(folder.databaseFile)
  })
}
