import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApprovalState } from '../../src/approval/approval.ts'
import { ACTION, approvalsOf, ARGS, REQUEST } from './harness.ts'

const MINUTE_MS = 60_000
const [HOUR_MS, DAY_MS] = [60 * MINUTE_MS, 24 * 60 * MINUTE_MS]
const said = (outcome: string, ago: string) => ({
  label: 'Repeated',
  value: `The same request ${outcome} carried out ${ago} before this one`,
})

/** A request that an agent made a time ago, and what has become of it. */
async function asked(state: ApprovalState, agoMs = 2 * MINUTE_MS) {
  const parts = approvalsOf()
  const { approved, clock, store, service } = parts
  const ref = await approved()
  if (state !== 'waiting') await store.move(ref.id, 'waiting', state, clock.now())
  clock.advance(agoMs)
  return { ...parts, ref, shown: (id: string) => service.session(id)?.context?.display[0] }
}

const OUTCOMES = [
  ['running', 'may have been'],
  ['unknown', 'may have been'],
  ['done', 'was'],
  ['completed', 'was'],
  ['reported_late', 'was'],
  ['unreported', 'was'],
  ['waiting', undefined],
  ['withdrawn', undefined],
  ['failed', undefined],
] as const
for (const [state, outcome] of OUTCOMES)
  test(`the phone shows ${outcome ?? 'nothing'} of an equal request that is ${state}`, async () => {
    const { approvals, shown } = await asked(state)
    const { id } = await approvals.request(REQUEST)
    const first = { label: 'Amount', value: '€1250' }
    assert.deepEqual(shown(id), outcome ? said(outcome, '2 minutes') : first)
  })

test('an agent that has lost its id, its owner and its name is known by what it asks', async () => {
  const { approvals, shown } = await asked('completed')
  const other = { kind: 'person', name: 'Anna' } as const
  const { id } = await approvals.request({ ...REQUEST, owner: 'login-9', requester: other })
  assert.deepEqual(shown(id), said('was', '2 minutes'))
})

test('a request of another user, or of other arguments, repeats none', async () => {
  const { approvals, shown } = await asked('completed')
  for (const change of [{ subjectRef: 't'.repeat(43) }, { args: { ...ARGS, cents: 1 } }]) {
    const { id } = await approvals.request({ ...REQUEST, ...change })
    assert.equal(shown(id)?.label, 'Amount')
  }
})

for (const [agoMs, ago] of [
  [59_999, 'less than a minute'],
  [MINUTE_MS, '1 minute'],
  [59 * MINUTE_MS, '59 minutes'],
  [HOUR_MS, '1 hour'],
  [23 * HOUR_MS, '23 hours'],
  [DAY_MS, '1 day'],
] as const)
  test(`the phone shows ${ago}`, async () => {
    const { approvals, shown } = await asked('completed', agoMs)
    const { id } = await approvals.request(REQUEST)
    assert.deepEqual(shown(id), said('was', ago))
  })

test('what the user has read of the earlier request is part of what runs', async () => {
  const { approvals, service, ref, store, clock } = await asked('completed')
  const { id } = await approvals.request(REQUEST)
  service.bond(id)
  clock.advance(MINUTE_MS)
  // What became of the earlier one later changes nothing.
  await store.move(ref.id, 'completed', 'failed', clock.now())
  const session = service.session(id)
  const [, ...rest] = session?.context?.display ?? []
  assert.ok(session?.context)
  service.change(id, { context: { ...session.context, display: rest } })
  const execute = () =>
    approvals.execute({ id, owner: REQUEST.owner, args: ARGS }, async () => 'sent')
  await assert.rejects(execute(), { code: 'not_approved', reasons: ['context_mismatch'] })
  service.change(id, { context: session.context })
  assert.equal(await execute(), 'sent')
})

test('a repeated request with the key of an earlier one is the earlier one', async () => {
  const { approvals, service, clock } = approvalsOf()
  const { id } = await approvals.request({ ...REQUEST, key: 'invoice-7' })
  service.bond(id)
  await approvals.execute({ id, owner: REQUEST.owner, args: ARGS }, async () => 'sent')
  clock.advance(20 * HOUR_MS)
  assert.equal((await approvals.request({ ...REQUEST, key: 'invoice-7' })).id, id)
  assert.equal(service.ids().length, 1)
})

test('the words of a repeated request can be those of the users', async () => {
  const { approved, clock, service, store } = approvalsOf()
  const { approvals } = approvalsOf({
    clock,
    service,
    store,
    describeRepeat: ({ outcome, agoMs }) => ({
      label: 'Wiederholung',
      value: `${outcome} vor ${agoMs / MINUTE_MS} min`,
    }),
  })
  const { id } = await approved()
  await approvals.execute({ id, owner: REQUEST.owner, args: ARGS }, async () => 'sent')
  clock.advance(3 * MINUTE_MS)
  const again = await approvals.request(REQUEST)
  assert.deepEqual(service.session(again.id)?.context?.display[0], {
    label: 'Wiederholung',
    value: 'done vor 3 min',
  })
})

for (const [what, describe] of [
  ['eight pairs', () => Array.from({ length: 8 }, (_, n) => ({ label: `L${n}`, value: 'v' }))],
  ['a label of that pair', () => [{ label: 'repeated', value: 'v' }]],
] as const)
  test(`refuses ${what}, which leave no place for a repetition, at the first request`, async () => {
    const { approvals, service } = approvalsOf({ describe })
    await assert.rejects(approvals.request(REQUEST), { code: 'invalid_request' })
    assert.equal(service.seen.length, 0)
    assert.equal(ACTION.describe(ARGS).length, 2)
  })
