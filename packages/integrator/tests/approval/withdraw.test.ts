import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApprovalStore } from '../../src/approval/approval.ts'
import { approvalsOf, ARGS, counted } from './harness.ts'

test('a withdrawn request runs nothing, and waits on no phone', async () => {
  const { approvals, approved, service } = approvalsOf()
  const ref = await approved()
  const { runs, run } = counted()
  await approvals.withdraw(ref)
  assert.equal(service.session(ref.id)?.state, 'killed')
  assert.equal(await approvals.status(ref), 'ended')
  const executed = approvals.execute({ ...ref, args: ARGS }, run)
  await assert.rejects(executed, { code: 'not_approved', message: /withdrawn/ })
  assert.equal(runs.length, 0)
  await approvals.withdraw(ref)
})

test('an action that runs, or has run, cannot be withdrawn', async () => {
  const { approvals, approved, service } = approvalsOf()
  const ref = await approved()
  const executed = approvals.execute({ ...ref, args: ARGS }, async () => {
    await assert.rejects(approvals.withdraw(ref), { code: 'outcome_unknown' })
    assert.equal(service.session(ref.id)?.state, 'bonded')
    return 'sent'
  })
  assert.equal(await executed, 'sent')
  await assert.rejects(approvals.withdraw(ref), { code: 'already_executed' })
  assert.equal(service.session(ref.id)?.state, 'completed')
  await assert.rejects(approvals.withdraw({ ...ref, owner: 'login-2' }), {
    code: 'approval_unknown',
  })
})

test('a withdrawal that the service missed is an error, and can be repeated', async () => {
  const { approvals, approved, service } = approvalsOf()
  const ref = await approved()
  service.fault('refused')
  await assert.rejects(approvals.withdraw(ref), { code: 'service_unavailable', retryable: true })
  await assert.rejects(approvals.execute({ ...ref, args: ARGS }, counted().run), {
    code: 'not_approved',
  })
  await approvals.withdraw(ref)
  assert.equal(service.session(ref.id)?.state, 'killed')
})

test('an execution that loses to a withdrawal says so, and runs nothing', async () => {
  const { approvals, approved, clock, service, store } = approvalsOf()
  const ref = await approved()
  const move: ApprovalStore['move'] = async (id, from, to, at) => {
    if (to === 'running') await approvals.withdraw(ref)
    return store.move(id, from, to, at)
  }
  const { approvals: other } = approvalsOf({ clock, service, store: { ...store, move } })
  const { runs, run } = counted()
  const executed = other.execute({ ...ref, args: ARGS }, run)
  await assert.rejects(executed, { code: 'not_approved', message: /withdrawn/ })
  assert.equal(runs.length, 0)
})
