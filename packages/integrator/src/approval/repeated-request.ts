import type { GivenContext } from '@bonded/contract'
import type { Row } from './approval-row.ts'

export type Pair = GivenContext['display'][number]

/** A request of the same user for the same action, which was started before. */
export interface EarlierRequest {
  /** `done`: the action has happened. `unknown`: it may have, or runs. */
  readonly outcome: 'done' | 'unknown'
  /** How long before the new request, in milliseconds. */
  readonly agoMs: number
}

const OUTCOMES: Readonly<Partial<Record<Row['state'], EarlierRequest['outcome']>>> = {
  running: 'unknown',
  unknown: 'unknown',
  done: 'done',
  completed: 'done',
  reported_late: 'done',
  unreported: 'done',
}
const UNITS = [
  ['day', 24 * 60 * 60_000],
  ['hour', 60 * 60_000],
  ['minute', 60_000],
] as const

/**
 * The newest equal request that was started, by any caller. An agent that has lost the id of its
 * request, or got a new name, asks the same user again.
 */
export function earlierOf(rows: readonly Row[], now: number): EarlierRequest | undefined {
  const [newest] = rows
    .filter(({ state }) => OUTCOMES[state] !== undefined)
    .toSorted((a, b) => b.changed_at - a.changed_at)
  const outcome = newest && OUTCOMES[newest.state]
  return outcome && { outcome, agoMs: Math.max(0, now - newest.changed_at) }
}

/** The user can read the pair a day later, so the time counts from the request, not from now. */
export function describeInEnglish({ outcome, agoMs }: EarlierRequest): Pair {
  const [unit, unitMs] = UNITS.find(([, ms]) => agoMs >= ms) ?? []
  const count = Math.floor(agoMs / (unitMs ?? 1))
  const ago = unit === undefined ? 'less than a minute' : `${count} ${unit}${count > 1 ? 's' : ''}`
  const has = outcome === 'done' ? 'was' : 'may have been'
  return { label: 'Repeated', value: `The same request ${has} carried out ${ago} before this one` }
}
