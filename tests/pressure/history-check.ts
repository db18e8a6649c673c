import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import type { SessionId, TimelineEntry } from '@bonded/contract'
import type { Service } from '../../packages/core/src/operations/service.ts'
import { runSql } from '../../packages/store/tests/servers/postgres.ts'
import { linearize } from './linearizability.ts'
import type { History } from './recorder.ts'
import { NEW_SESSION, sessionModel } from './session-model.ts'

/**
 * Checks that one order of its calls explains a session, and that its stored events match its
 * state.
 */
export async function checkHistory(
  service: Service,
  id: SessionId,
  history: History,
): Promise<void> {
  explain(id, history)
  const { session, timeline } = await service.store.read(function* (tables) {
    return {
      session: yield* tables.sessions.find(id),
      timeline: yield* tables.sessions.timeline(id),
    }
  })
  const events = eventsOf(timeline)
  assert.equal(session?.seq, events.length, `seq and the stored events of ${id} differ`)
  const kinds = events.map(({ kind }) => kind)
  assert.deepEqual(
    foldOf(kinds),
    { state: session?.state, hint: session?.hint },
    `the events of ${id} do not add up to its state: ${kinds.join(', ')}`,
  )
}

/** Finds one order of the calls that explains every response, or fails. */
export function explain(id: string, history: History): void {
  const order = linearize(sessionModel, NEW_SESSION, history)
  assert.ok(order !== undefined, `no order explains the responses about ${id}:\n${format(history)}`)
}

/**
 * Checks that the database file is consistent in itself: every session has the state of its last
 * event, and one event for each step of seq.
 */
export function checkFile(databaseFile: string): void {
  using database = new DatabaseSync(databaseFile, { readOnly: true })
  const figure = (sql: string) => Object.values(database.prepare(sql).get() ?? {})[0]
  assert.equal(figure('pragma quick_check'), 'ok')
  for (const [sql, fact] of COUNTS_OF_ERRORS) assert.equal(figure(sql), 0, fact)
}

/** Checks a PostgreSQL database in the same way, and that each event may follow its predecessor. */
export async function checkDatabase(url: string): Promise<void> {
  for (const [sql, fact] of COUNTS_OF_ERRORS) {
    const [row] = await runSql(url, sql)
    assert.equal(Number(Object.values(row ?? {})[0]), 0, fact)
  }
  for (const { kinds } of await runSql(url, EVERY_COURSE)) foldOf(String(kinds).split(' '))
}

const EVERY_COURSE = `select distinct string_agg(kind, ' ' order by seq) as kinds
  from session_event where seq is not null group by session_key`

const EVENTS = `from session_event
  where session_event.session_key = session.session_key and session_event.seq is not null`
const LAST_EVENT = `select state || coalesce(hint, '') ${EVENTS} order by seq desc limit 1`

/** Each statement counts rows that contradict the fact. */
const COUNTS_OF_ERRORS: readonly (readonly [sql: string, fact: string])[] = [
  [
    `select count(*) from session where seq <> (select count(*) ${EVENTS})`,
    'one event for each step of seq',
  ],
  [
    `select count(*) from session where state || coalesce(hint, '') <> (${LAST_EVENT})`,
    'every session has the state of its last event',
  ],
  [
    `select count(*) from session_event where not exists
      (select 1 from session where session.session_key = session_event.session_key)`,
    'no event without its session',
  ],
]

/** The entries that are events, numbered 1, 2, 3, … without a gap. */
export function eventsOf(timeline: readonly TimelineEntry[]): readonly TimelineEntry[] {
  const events = timeline
    .filter(({ seq }) => seq !== null)
    .sort((a, b) => Number(a.seq) - Number(b.seq))
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, index) => index + 1),
  )
  return events
}

/** The state that the events add up to. Fails on an event that may not follow its predecessor. */
export function foldOf(kinds: readonly string[]): { state: string; hint: string | null } {
  const [first, ...rest] = kinds
  assert.equal(first, 'created')
  let current: { state: string; hint: string | null } = {
    state: 'pending',
    hint: 'waiting_for_scan',
  }
  for (const kind of rest) {
    const before = current.state
    assert.ok(MAY_FOLLOW[before]?.includes(kind), `${kind} follows ${before}: ${kinds.join(', ')}`)
    if (kind === 'scanned' || kind === 'evaluating') current = { state: before, hint: kind }
    else current = { state: kind, hint: kind === 'step_up_required' ? 'step_up' : null }
  }
  return current
}

const MAY_FOLLOW: Readonly<Record<string, readonly string[]>> = {
  pending: ['scanned', 'evaluating', 'step_up_required', 'bonded', 'killed', 'expired'],
  step_up_required: ['bonded', 'killed', 'expired'],
  bonded: ['completed', 'killed', 'expired'],
}

function format(history: History): string {
  const lines = [...history].sort((a, b) => a.calledAt - b.calledAt)
  return lines
    .map(
      ({ call, calledAt, respondedAt, response }) =>
        `${calledAt}..${respondedAt} ${JSON.stringify(call)} -> ${JSON.stringify(response ?? null)}`,
    )
    .join('\n')
}
