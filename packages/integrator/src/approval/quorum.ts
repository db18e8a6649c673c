import {
  isOwner,
  QUORUM_NEEDED,
  QUORUM_SIZE,
  type QuorumRow,
  type SessionId,
} from '@bonded/contract'
import { GateError } from '../errors.ts'

/** One of the people who can approve. */
export interface Person {
  /** The human in your own system, who has one such name, however many phones. */
  readonly person: string
  /** The `subject_ref` of an earlier bond. */
  readonly ref: string
}

/** Several people who approve one action. They come from your configuration or sign-in. */
export interface Quorum {
  readonly subjectRef?: undefined
  readonly people: readonly Person[]
  /** How many of them must approve. */
  readonly needed: number
  /** The `person` for whom you ask, who is none of the people. Null if you ask for none. */
  readonly maker: string | null
}

/** One user who approves. */
export interface OneUser {
  /** The user's `subject_ref` of an earlier bond. */
  readonly subjectRef: string
  readonly people?: undefined
  readonly needed?: undefined
  readonly maker?: undefined
}

/** Who is asked, in an order of the library. */
export type Approvers =
  | { readonly subject_ref: string; readonly people?: undefined; readonly needed?: undefined }
  | (Omit<Quorum, 'subjectRef'> & { readonly subject_ref?: undefined })

/** What the row of a quorum has of it: the rule, and the completion secrets. */
export interface StoredQuorum extends Omit<QuorumRow, 'id'> {
  readonly secrets: readonly (readonly [SessionId, string])[]
}

/** @throws {GateError} `invalid_configuration` unless it is a number of people */
export function checkMinimum(minimum: unknown): void {
  if (!isCount(minimum, QUORUM_NEEDED))
    throw new GateError('invalid_configuration', 'quorum.minimum must be an integer from 2 to 5.')
}

/**
 * Checks who is asked. The service knows references, and not that two of them are of one human.
 *
 * @param minimum of the configuration
 * @throws {GateError} `invalid_request`, which names the member
 */
export function approversOf(
  { subjectRef: subject_ref, people, needed, maker }: OneUser | Quorum,
  minimum: number | undefined,
): Approvers {
  if (people === undefined && minimum === undefined) return { subject_ref: subject_ref ?? '' }
  const check = (isRight: boolean, param: string, message: string) => {
    if (!isRight) throw new GateError('invalid_request', `${param} ${message}`, { param })
  }
  check(minimum !== undefined, 'people', 'needs the option quorum of createApprovals.')
  check(subject_ref === undefined, 'subjectRef', 'cannot be there: pass people.')
  check(Array.isArray(people) && isCount(people.length, QUORUM_SIZE), 'people', 'must be 2 to 10.')
  const list = (people ?? []).map(({ person, ref }) => ({ person, ref }))
  check(
    list.every(({ person, ref }) => isOwner(person) && isOwner(ref)),
    'people',
    'must each have a person and a ref.',
  )
  for (const name of ['person', 'ref'] as const)
    check(
      new Set(list.map((each) => each[name])).size === list.length,
      'people',
      `repeat a ${name}.`,
    )
  check(maker === null || isOwner(maker), 'maker', 'must be stated: a person, or null.')
  check(!list.some(({ person }) => person === maker), 'people', 'have the maker among them.')
  const range = { minimum: minimum ?? Number.NaN, maximum: Math.min(list.length, 5) }
  check(isCount(needed, range), 'needed', `must be from ${minimum} to 5, not more than people.`)
  const sorted = list.toSorted((a, b) => (a.ref < b.ref ? -1 : 1))
  return { people: sorted, needed: Number(needed), maker: maker ?? null }
}

/** Whether two requests ask one of the same people, as every two of a lookup of one user do. */
export function haveOneInCommon(
  row: StoredQuorum | undefined,
  people?: readonly Person[],
): boolean {
  return people === undefined || people.some(({ ref }) => row?.refs.includes(ref) === true)
}

function isCount(
  value: unknown,
  { minimum, maximum }: { readonly minimum: number; readonly maximum: number },
): value is number {
  return Number.isInteger(value) && Number(value) >= minimum && Number(value) <= maximum
}
