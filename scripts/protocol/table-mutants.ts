import { ENDED_REASONS, SESSION_STATES } from '@bonded/contract'
import { DEVICE_MOVES, type DeviceMove } from '../../packages/core/src/domain/device-moves.ts'
import { type Check, CHECKS } from '../../packages/core/src/protocol/checks.ts'
import type { Call } from '../../packages/core/src/protocol/facts.ts'
import { checksOf } from '../../packages/core/src/protocol/run-checks.ts'
import { type Move, MOVES, STATES, TERMINAL } from '../../packages/core/src/protocol/states.ts'
import { PROMISED_CHECKS } from '../../packages/core/tests/protocol/promised.ts'

/** One change of a table of the protocol. */
export interface TableMutant {
  readonly name: string
  readonly table: 'CHECKS' | 'MOVES' | 'STATES' | 'TERMINAL' | 'DEVICE_MOVES'
  /** The changed table, as an expression that has the table as it is written in `table`. */
  readonly changed: string
}

const ROWS: readonly Check[] = CHECKS

/** Every change of a row of the checks, and every move of one out of its set. */
function checkMutants(): readonly TableMutant[] {
  return ROWS.flatMap((row, index) => {
    const { step, reason, calls, counts, suspects } = row
    const name = `row ${index} (${step}, ${reason})`
    const as = (members: string) => `table.with(${index}, { ...table[${index}], ${members} })`
    const instead = reason === 'session_not_found' ? 'session_not_live' : 'session_not_found'
    const whole: readonly (readonly [string, string])[] = [
      ['is dropped', `table.toSpliced(${index}, 1)`],
      ['never fails', as('fails: () => false')],
      ['has another reason', as(`reason: '${instead}'`)],
      ['has another step', as(`step: 'another'`)],
      [counts ? 'does not count' : 'counts', as(`counts: ${!counts}`)],
      [suspects ? 'does not suspect' : 'suspects', as(`suspects: ${!suspects}`)],
    ]
    const inCalls = calls.flatMap((call) =>
      [
        ...(calls.length > 1 ? [[`is dropped from ${call}`, withoutCall(index, call)]] : []),
        ...[placeBefore(call, row), placeAfter(call, row)].flatMap((to) =>
          to === undefined || isSameAs(row, ROWS[to])
            ? []
            : movesOf({ index, to, call, isShared: calls.length > 1 }),
        ),
      ].map(([what = '', changed = '']) => [what, changed] as const),
    )
    return [...new Map([...whole, ...inCalls])].map(
      ([what, changed]): TableMutant => ({ name: `${name} ${what}`, table: 'CHECKS', changed }),
    )
  })
}

/** The same row with another one in between, in all of its calls, and in one of them alone. */
function movesOf(of: {
  readonly index: number
  readonly to: number
  readonly call: Call
  readonly isShared: boolean
}): string[][] {
  const { index, to, call, isShared } = of
  const past = `past row ${to} (${ROWS[to]?.step})`
  const whole = [
    `is moved ${past}`,
    `table.toSpliced(${index}, 1).toSpliced(${to}, 0, table[${index}])`,
  ]
  if (!isShared) return [whole]
  const place = to < index ? to : to + 1
  const alone = `${withoutCall(index, call)}.toSpliced(${place}, 0, { ...table[${index}], calls: ['${call}'] })`
  return [whole, [`is moved ${past} in ${call}`, alone]]
}

/** Nothing tells which of two rows with one step and one reason has failed. */
const isSameAs = (row: Check, other: Check | undefined) =>
  row.step === other?.step && row.reason === other.reason

const withoutCall = (index: number, call: Call) =>
  `table.with(${index}, { ...table[${index}], calls: table[${index}].calls.filter((one) => one !== '${call}') })`

/** The row of the table that precedes the row's set in the call. */
function placeBefore(call: Call, row: Check): number | undefined {
  const sets = setsOf(call)
  const at = checksOf(call).indexOf(row)
  const before = sets.findLastIndex((set, place) => place < at && set !== sets[at])
  return placeOf(call, before)
}

/** The row of the table that follows the row's set in the call. */
function placeAfter(call: Call, row: Check): number | undefined {
  const sets = setsOf(call)
  const at = checksOf(call).indexOf(row)
  const after = sets.findIndex((set, place) => place > at && set !== sets[at])
  return placeOf(call, after)
}

function placeOf(call: Call, at: number): number | undefined {
  const row = checksOf(call)[at]
  return row === undefined ? undefined : ROWS.indexOf(row)
}

/** The set that each row of a call is in. A row without one is a set of its own. */
function setsOf(call: Call): readonly number[] {
  return PROMISED_CHECKS[call].flatMap((entry, set) => [entry].flat().map(() => set))
}

/** Every change of a member of a move. */
function moveMutants(): readonly TableMutant[] {
  return Object.entries<Move>(MOVES).flatMap(([name, { from, to, endedReason }]) => {
    const as = (members: string) => `{ ...table, ${name}: { ...table.${name}, ${members} } }`
    const changes: readonly (readonly [string, string])[] = [
      ...toggled(from, SESSION_STATES).map(
        ([what, states]) => [`${what} from`, as(`from: ${states}`)] as const,
      ),
      ...SESSION_STATES.filter((state) => state !== to).map(
        (state) => [`to ${state}`, as(`to: '${state}'`)] as const,
      ),
      ...[undefined, ...ENDED_REASONS]
        .filter((reason) => reason !== endedReason)
        .map(
          (reason) => [`ended by ${reason}`, as(`endedReason: ${JSON.stringify(reason)}`)] as const,
        ),
    ]
    return changes.map(
      ([what, changed]): TableMutant => ({
        name: `move ${name}: ${what}`,
        table: 'MOVES',
        changed,
      }),
    )
  })
}

/** Every change of what holds in a state. */
function stateMutants(): readonly TableMutant[] {
  const nonces = ['shown', 'step', 'none']
  const ofStates = Object.entries(STATES).flatMap(([state, { nonce, evidence, bond }]) =>
    [
      ...nonces.filter((one) => one !== nonce).map((one) => `nonce: '${one}'`),
      `evidence: ${!evidence}`,
      `bond: ${!bond}`,
    ].map(
      (member): TableMutant => ({
        name: `state ${state}: ${member}`,
        table: 'STATES',
        changed: `{ ...table, ${state}: { ...table.${state}, ${member} } }`,
      }),
    ),
  )
  const ends = toggled(TERMINAL, SESSION_STATES).map(
    ([what, changed]): TableMutant => ({ name: `final: ${what}`, table: 'TERMINAL', changed }),
  )
  return [...ofStates, ...ends]
}

/** Every change of a member of a device's move. */
function deviceMutants(): readonly TableMutant[] {
  const all = ['active', 'suspect', 'blocked', 'removed']
  return Object.entries<DeviceMove>(DEVICE_MOVES).flatMap(([name, { from, to }]) =>
    [
      ...toggled(from, all).map(([, statuses]) => `from: ${statuses}`),
      ...all.filter((status) => status !== to).map((status) => `to: '${status}'`),
    ].map(
      (member): TableMutant => ({
        name: `move of a device ${name}: ${member}`,
        table: 'DEVICE_MOVES',
        changed: `{ ...table, ${name}: { ...table.${name}, ${member} } }`,
      }),
    ),
  )
}

/** A list of states with one more, or without one. */
function toggled(
  states: readonly string[],
  all: readonly string[],
): readonly (readonly [string, string])[] {
  return all.map((state) =>
    states.includes(state)
      ? [`not ${state}`, JSON.stringify(states.filter((one) => one !== state))]
      : [`also ${state}`, JSON.stringify([...states, state])],
  )
}

/** Every change of a table of the protocol, one at a time. */
export const TABLE_MUTANTS: readonly TableMutant[] = [
  ...checkMutants(),
  ...moveMutants(),
  ...stateMutants(),
  ...deviceMutants(),
]
