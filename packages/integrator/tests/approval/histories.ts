import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { ApprovalError, type ApprovalStore, NotStarted } from '../../src/approval/approval.ts'
import { randomFor } from '../../../../tests/random.ts'
import { approvalsOf, ARGS, REQUEST } from './harness.ts'

/**
 * Random faults in one process: of the store before and after its change, of the service, and of
 * the action. Several executions race, and a reconciliation with them.
 */
export async function survivesFaults(
  name: string,
  store: ApprovalStore,
  faults: number,
): Promise<void> {
  const below = randomFor(`approval faults: ${name}`)
  for (let count = 0; count < faults; ) count += await history(store, below)
}

/** One approval until its end. Returns the number of faults. */
async function history(plain: ApprovalStore, below: (n: number) => number): Promise<number> {
  let faults = 0
  const happens = (oneIn: number) => {
    const does = below(oneIn) === 0
    if (does) faults++
    return does
  }
  /** Lets others go first, for a few turns. */
  const pause = async () => {
    for (let turns = below(6); turns > 0; turns--) await Promise.resolve()
  }
  const find: ApprovalStore['find'] = async (id) => {
    await pause()
    return plain.find(id)
  }
  const move: ApprovalStore['move'] = async (...change) => {
    if (happens(5)) throw new Error('lost before')
    await pause()
    const isMoved = await plain.move(...change)
    if (happens(5)) throw new Error('lost after')
    await pause()
    return isMoved
  }
  const { approvals, approved, service } = approvalsOf({ store: { ...plain, find, move } })
  const ref = await approved({ ...REQUEST, subjectRef: randomBytes(32).toString('base64url') })
  let [done, failedBy] = [0, 0]
  const run = async () => {
    await pause()
    if (happens(4)) throw new NotStarted('closed')
    if (happens(4)) {
      failedBy++
      throw new Error('no answer')
    }
    done++
    if (happens(4)) throw new Error('no answer')
    return 'sent'
  }
  for (let round = 0; round < 3; round++) {
    if (happens(3)) service.fault('refused', 'lost', { status: 500 }, 'cut', 'refused')
    const calls = [0, 1, 2].map(() => approvals.execute({ ...ref, args: ARGS }, run))
    const settled = await Promise.allSettled([...calls, approvals.reconcile().catch(() => [])])
    for (const result of settled)
      if (result.status === 'rejected' && result.reason instanceof ApprovalError)
        assert.notEqual(result.reason.code, 'approval_unknown')
    assert.ok(done + failedBy <= 1, `${done} runs, ${failedBy} that threw`)
  }
  // Whatever the faults were: an action that began is done, or in the list.
  const { state } = (await plain.find(ref.id)) ?? {}
  const listed = (await approvals.reconcile(async () => undefined).catch(() => undefined)) ?? []
  const isOpen = (await plain.unfinished()).some(({ id }) => id === ref.id)
  if (done + failedBy === 1)
    assert.ok(isOpen || state === 'done' || state === 'completed', `${state}`)
  for (const { id } of listed) assert.equal(id, ref.id)
  for (const from of ['running', 'unknown', 'done'] as const)
    await plain.move(ref.id, from, 'failed', 0)
  return Math.max(1, faults)
}
