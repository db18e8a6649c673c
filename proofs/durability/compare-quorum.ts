import type { SessionState } from '@bonded/contract'
import type { Comparison } from './compare.ts'

/** What is stored of one member of a quorum. Times are milliseconds since the epoch. */
export interface StoredMember {
  readonly state: SessionState
  readonly bondedAt: number | null
  readonly endedAt: number | null
  readonly expiresAt: number
}

/** What became of one quorum. */
export interface SettledQuorum {
  readonly needed: number
  readonly members: readonly StoredMember[]
  /** Whether its people approved and took nothing back, declined, or did both at once. */
  readonly people: 'approved' | 'refused' | 'either'
  /** When each run of its action began. */
  readonly runs: readonly number[]
  /** The status of the backend's row, and whether `reconcile` lists it as unknown. */
  readonly status: string
  readonly isListed: boolean
}

/** How old a snapshot may be when the action begins (protocol 16). */
const SNAPSHOT_MS = 30_000

/** Compares the runs of an action with its approvals, and with what the backend says of it. */
export function compareQuorum(quorum: SettledQuorum): Comparison {
  const { people, runs, status, isListed } = quorum
  const findings = (pairs: readonly (readonly [string, boolean])[]) =>
    pairs.filter(([, isFound]) => isFound).map(([finding]) => finding)
  return {
    lost: findings([
      [
        'the people approved, and the action neither ran nor is listed as unknown',
        people === 'approved' && runs.length === 0 && !isListed,
      ],
      [
        `the action ran, and its status is ${status}`,
        runs.length > 0 && status !== 'executed' && !isListed,
      ],
    ]),
    invented: findings([
      [`the action ran ${runs.length} times`, runs.length > 1],
      ['the people refused, and the action ran', people === 'refused' && runs.length > 0],
      ['the action is reported, and did not run', status === 'executed' && runs.length === 0],
      [
        'the action ran, and too few approvals were live within 30 s before',
        !runs.every((begunAt) => wereLive(quorum, begunAt)),
      ],
    ]),
  }
}

/** Whether enough approvals were live at one moment of the time before an action began. */
function wereLive({ members, needed }: SettledQuorum, begunAt: number): boolean {
  const from = begunAt - SNAPSHOT_MS
  // The number grows only at an approval.
  const moments = [from, ...members.flatMap(({ bondedAt }) => bondedAt ?? [])]
  return moments
    .filter((at) => at >= from && at <= begunAt)
    .some((at) => members.filter((member) => isLive(member, at)).length >= needed)
}

function isLive({ state, bondedAt, endedAt, expiresAt }: StoredMember, at: number): boolean {
  const ends = { killed: endedAt ?? 0, completed: Number.POSITIVE_INFINITY } as const
  const until = state === 'killed' || state === 'completed' ? ends[state] : expiresAt
  return bondedAt !== null && bondedAt <= at && at < until
}
