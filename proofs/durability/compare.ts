import type { DeviceId, SessionId, SessionState, TimelineEntry } from '@bonded/contract'
import type { Store } from '@bonded/core/ports/store'
import type { Act, Acknowledgment, Ledger, SessionRecord, Sighting } from './ledger.ts'

/** What a run has proved or disproved. Each finding is one line for a reader. */
export interface Comparison {
  /** Acknowledged changes that are not stored. */
  readonly lost: readonly string[]
  /** Events and states that a client received, or that are stored, and that no request caused. */
  readonly invented: readonly string[]
}

/** The stored history of one session, as the comparison needs it. */
export interface StoredSession {
  /** The events, by `seq` from 1. */
  readonly events: readonly Pick<TimelineEntry, 'seq' | 'kind' | 'request_id'>[]
}

/** Compares the clients' record with the store, session by session. */
export async function compareWithStore(ledger: Ledger, store: Store): Promise<Comparison> {
  const lost: string[] = []
  const invented: string[] = []
  for (const [id, record] of ledger.sessions) {
    const found = compareSession(record, await readSession(store, id))
    lost.push(...found.lost.map((line) => `${id}: ${line}`))
    invented.push(...found.invented.map((line) => `${id}: ${line}`))
  }
  for (const key of ledger.twice) invented.push(`Idempotency-Key ${key} led to two sessions`)
  for (const [id, counter] of ledger.counters) {
    const device = await store.read((tables) => tables.devices.find(id as DeviceId))
    if (device === undefined) lost.push(`${id}: the registration`)
    else if (device.counter < counter)
      lost.push(`${id}: counter ${counter} was accepted, ${device.counter} is stored`)
  }
  return { lost, invented }
}

async function readSession(store: Store, id: SessionId): Promise<StoredSession> {
  const timeline = await store.read((tables) => tables.sessions.timeline(id))
  return { events: timeline.filter(({ seq }) => seq !== null) }
}

/** Compares one session. Separate from the store, so that a test can plant every fault. */
export function compareSession(record: SessionRecord, { events }: StoredSession): Comparison {
  const lost = record.acknowledged
    .filter((acknowledgment) => !isStored(acknowledgment, events))
    .map(({ act, requestId }) => `${act} (${requestId}) was acknowledged and is not stored`)
  const states = statesOf(events)
  const invented = [
    ...record.sightings
      .filter((sighting) => !isExplained(sighting, { events, states }))
      .map(({ seq, state, kind }) => `${kind ?? state} at seq ${seq} was sent and is not stored`),
    ...events
      .filter((event, index) => !hasCause(event, record.sent) || isAfterEnd(states[index - 1]))
      .map(({ kind, seq }) => `${kind} at seq ${seq} is stored and no request caused it`),
  ]
  return { lost, invented }
}

/** The kind of event that a success leaves, where every success of the run leaves one. */
const LEAVES: Readonly<Record<Act, string>> = {
  create: 'created',
  claim: 'scanned',
  evidence: 'evaluating',
  attest: 'bonded',
  decline: 'killed',
  complete: 'completed',
  kill: 'killed',
}

function isStored({ act }: Acknowledgment, events: StoredSession['events']): boolean {
  // By kind and not by request: a repetition is acknowledged too, and causes no second event. A
  // completed session acknowledges a kill, which leaves it as it is.
  return events.some(
    ({ kind }) => kind === LEAVES[act] || (act === 'kill' && kind === LEAVES.complete),
  )
}

/** The state after each event. A hint leaves the state as it was. */
function statesOf(events: StoredSession['events']): readonly SessionState[] {
  let state: SessionState = 'pending'
  return events.map(({ kind }) => {
    if (kind !== 'created' && kind !== 'scanned' && kind !== 'evaluating')
      state = kind as SessionState
    return state
  })
}

function isExplained(
  { seq, state, kind }: Sighting,
  { events, states }: StoredSession & { readonly states: readonly SessionState[] },
): boolean {
  if (kind !== undefined && events[seq - 1]?.kind !== kind) return false
  return states[seq - 1] === state
}

function hasCause(
  { kind, request_id }: StoredSession['events'][number],
  sent: SessionRecord['sent'],
): boolean {
  if (kind === 'expired') return request_id === null
  const act = request_id === null ? undefined : sent.get(request_id)
  return act !== undefined && LEAVES[act] === kind
}

const ENDED: readonly (SessionState | undefined)[] = ['completed', 'killed', 'expired']

function isAfterEnd(state: SessionState | undefined): boolean {
  return ENDED.includes(state)
}
