import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Bus } from '../../core/src/ports/bus.ts'
import { StoreError } from '../../core/src/ports/store.ts'
import type { Work } from '../../core/src/ports/work.ts'
import { Connections } from '../src/postgres/server/connections.ts'
import { PostgresStore } from '../src/postgres/postgres-store.ts'
import { changed, sent } from '../src/statement.ts'
import type { SessionKeys } from '../src/tables/session-keys.ts'
import { complete, failure, type Fault, fakePostgres, warning } from './servers/fake-postgres.ts'
import { settingsOf } from './servers/test-database.ts'

const COMMITTED = complete('COMMIT')
const UPDATE = 'update tenant set name = name'
/** Errors after which a unit would run again if its transaction were known to be undone. */
const REPEATED = ['40001', '40P01', '23505', '55P03', '08006', '25P03', '57P01', '57P02']

/** What PostgreSQL can send at the commit while it may have committed. */
const UNKNOWN: Readonly<Record<string, Fault>> = {
  'the connection ends without a response': { messages: [], closes: true },
  'the connection ends after the confirmation': { messages: [COMMITTED], closes: true },
  'the server confirms with a warning': { messages: [warning('01000'), COMMITTED], closes: false },
  'the connection ends after a warning': { messages: [warning('57P01')], closes: true },
  ...Object.fromEntries(
    REPEATED.flatMap((code): [string, Fault][] => [
      [
        `the server reports ${code} after the last statement`,
        { messages: [COMMITTED, failure('ERROR', code)], closes: false },
      ],
      [
        `the server reports ${code} after the last statement and ends the connection`,
        { messages: [COMMITTED, failure('FATAL', code)], closes: true },
      ],
    ]),
  ),
}

/** What it sends only if it has not committed. */
const UNDONE: Readonly<Record<string, Fault>> = Object.fromEntries(
  REPEATED.flatMap((code): [string, Fault][] => [
    [
      `the server rejects the commit with ${code}`,
      { messages: [failure('ERROR', code)], closes: false },
    ],
    [
      `the server rejects the commit with ${code} and ends the connection`,
      { messages: [failure('FATAL', code)], closes: true },
    ],
  ]),
)
const CONFLICT: Fault = { messages: [failure('ERROR', '40001')], closes: false }

/** One that waits for its statement, and one whose statement shares the message of the commit. */
const UNITS: Readonly<Record<string, () => Work<unknown>>> = {
  'a unit that waits for its results': () => changed(UPDATE, []),
  'a unit that waits for none': () => sent(UPDATE, []),
}

/** A unit runs again only before its time-out, which other work on the machine must not use up. */
const ON_BUSY_MACHINE = { statementTimeoutMs: 60_000, lockTimeoutMs: 60_000 }

/** Runs a unit on a server with these faults, one at each run of the statement. */
async function runWith(
  unit: () => Work<unknown>,
  faults: readonly Fault[],
  at = 'commit',
): Promise<{ outcome: PromiseSettledResult<unknown>; runs: number; commits: number }> {
  const left = [...faults]
  await using server = await fakePostgres((text) => (text === at ? left.shift() : undefined))
  await using connections = await Connections.open(settingsOf(server.url, ON_BUSY_MACHINE))
  const bus = { publish: () => undefined } as unknown as Bus
  const store = new PostgresStore(connections, { bus, sessionKeys: {} as SessionKeys })
  let runs = 0
  const [outcome] = await Promise.allSettled([
    store.write(() => {
      runs++
      return unit()
    }),
  ])
  assert.deepEqual(left, [], 'a fault did not happen')
  const commits = server.executed.filter((text) => text === 'commit').length
  return { outcome, runs, commits }
}

for (const [which, unit] of Object.entries(UNITS)) {
  test(`${which} never runs again after a commit that may have taken effect`, async () => {
    // With others in a transaction, and alone, after a transaction that was undone.
    for (const [what, fault] of Object.entries(UNKNOWN))
      for (const faults of [[fault], [CONFLICT, fault]]) {
        const { outcome, runs, commits } = await runWith(unit, faults)
        assert.deepEqual([runs, commits], [faults.length, faults.length], what)
        assert.ok(outcome.status === 'rejected' && outcome.reason instanceof StoreError, what)
      }
  })

  test(`${which} runs again after a commit that was undone`, async () => {
    for (const [what, fault] of Object.entries(UNDONE)) {
      const { outcome, runs, commits } = await runWith(unit, [fault])
      assert.deepEqual([outcome.status, runs, commits], ['fulfilled', 2, 2], what)
    }
  })
}

test('a unit runs again after its connection was lost before the commit was sent', async () => {
  const lost: Fault = { messages: [], closes: true }
  const { outcome, runs, commits } = await runWith(() => changed(UPDATE, []), [lost], UPDATE)
  assert.deepEqual([outcome.status, runs, commits], ['fulfilled', 2, 1])
})
