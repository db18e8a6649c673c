import { type FullSession, judgeQuorum } from '@bonded/contract'

const OWNER = 'anna'
const RULE = { id: `quo_${'q'.repeat(22)}`, needed: 2, of: 3 }
const REFS = ['ref-ann', 'ref-bob', 'ref-cy']

/** The approval of one of three people, or another state of the session. */
const memberOf =
  (bonded: FullSession) =>
  (index: number, change: object = {}): FullSession => {
    const context = { ...bonded.context, display: [], quorum: RULE }
    const own = { id: `sess_${String(index).repeat(22)}`, subject_ref: REFS[index] ?? null }
    return { ...bonded, context, ...own, ...change }
  }

const WAITS = { state: 'pending', verification: null, subject_ref: null }

/** What is unlike a quorum of three of which two have approved. */
interface Case {
  readonly sessions?: readonly FullSession[]
  row?: object
  minimum?: number
  owner?: string
  digest?: string
}

function casesOf(
  member: ReturnType<typeof memberOf>,
  { digest, start }: Record<'digest' | 'start', string>,
): readonly Case[] {
  const [ann, bob, cy] = [member(0), member(1), member(2)]
  const killed = (ended_reason: string) => member(2, { ...WAITS, state: 'killed', ended_reason })
  const context = (quorum: object | undefined) => ({ display: [], digest, quorum })
  const third = member(2, WAITS)
  const three = { ...RULE, needed: 3 }
  return [
    {},
    { sessions: [ann, bob, cy] },
    { sessions: [] },
    { sessions: [ann, bob] },
    { sessions: [ann, ann, bob] },
    { sessions: [ann, member(1, WAITS), third] },
    { sessions: [ann, member(1, { subject_ref: 'ref-ann' }), third] },
    { sessions: [ann, member(1, { subject_ref: 'ref-maker' }), third] },
    { sessions: [ann, member(1, { subject_ref: null }), third] },
    { sessions: [ann, member(1, { context: context({ ...RULE, id: 'quo_x' }) }), third] },
    { sessions: [ann, member(1, { context: context(three) }), third] },
    { sessions: [ann, member(1, { context: context(undefined) }), third] },
    { sessions: [ann, bob, member(2, { context: null })] },
    { row: { needed: 1 } },
    { row: { needed: 3 } },
    { row: { id: 'quo_y' } },
    { row: { refs: ['ref-ann', 'ref-bob', 'ref-bob'] } },
    { row: { refs: ['ref-ann', 'ref-bob'] } },
    { minimum: 3 },
    { sessions: [ann, bob, killed('user_declined')] },
    { sessions: [ann, bob, killed('user_unexpected')] },
    { sessions: [ann, bob, killed('decided')] },
    { sessions: [ann, member(1, { verification: null }), third] },
    { sessions: [ann, member(1, { state: 'completed' }), third] },
    { sessions: [ann, member(1, { expires_at: start }), third] },
    {
      sessions: [
        ann,
        member(1, { verification: { ...bob.verification, human_presence_confidence: 0.5 } }),
        third,
      ],
    },
    { digest: 'e'.repeat(43) },
    { owner: 'other' },
  ]
}

/**
 * Quorums whose approvals are easy to count wrong, with what the contract says.
 *
 * @param bonded a session that the gate accepts
 */
export function quorumVectors(bonded: FullSession): readonly object[] {
  const { server_time: start, context: shown } = bonded
  const { workflow, action } = { workflow: bonded.workflow ?? '', action: bonded.action ?? '' }
  const member = memberOf(bonded)
  const DIGEST = shown?.digest ?? ''
  return casesOf(member, { digest: DIGEST, start }).map(({ row, ...changes }) => {
    const facts = {
      sessions: [member(0), member(1), member(2, WAITS)],
      minimum: 2,
      owner: OWNER,
      digest: DIGEST,
      ...changes,
    }
    const { sessions, minimum, owner, digest } = facts
    const own = { ...RULE, refs: REFS, ...row }
    const purpose = { workflow, action }
    const { reasons, approved } = judgeQuorum({
      sessions,
      row: own,
      minimum,
      owner,
      pending: { ...purpose, owner: OWNER },
      expected: { ...purpose, context_digest: digest },
      now: Date.parse(start),
    })
    return { sessions, row: own, minimum, owner, digest, expected: [reasons, approved] }
  })
}
