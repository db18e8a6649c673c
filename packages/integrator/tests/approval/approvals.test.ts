import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GivenContext, SessionContext } from '@bonded/contract'
import { bindingDigest } from '../../src/index.ts'
import { type ApprovalStore, memoryApprovalStore, NotStarted } from '../../src/approval/approval.ts'
import { AGENT, approvalsOf, ARGS, counted, REQUEST, type Transfer } from './harness.ts'

const HOUR_MS = 60 * 60_000
const DAY_MS = 24 * HOUR_MS
/** A process is taken for dead after a minute without a renewal. */
const LEASE_MS = 60_000

test('a request has the requester, the pairs, the arguments as text, and a digest', async () => {
  const { approvals, service } = approvalsOf()
  const { id, inboxUrl, expiresInMs } = await approvals.request(REQUEST)
  assert.equal(inboxUrl, 'https://bonded.test/inbox')
  assert.equal(expiresInMs, 300_000)
  const session = service.session(id)
  assert.deepEqual(session?.context, {
    requester: AGENT,
    display: [
      { label: 'Amount', value: '€1250' },
      { label: 'To', value: ARGS.to },
    ],
    text: `{\n  "cents": 125000,\n  "to": "${ARGS.to}"\n}`,
    digest: await bindingDigest({ action: 'transfer', version: '1', args: ARGS }),
  })
  assert.equal(session?.subject_ref, REQUEST.subjectRef)
})

test('a repeated request with the same key is the same approval', async () => {
  const { approvals } = approvalsOf()
  const first = await approvals.request({ ...REQUEST, key: 'invoice-7' })
  assert.deepEqual(await approvals.request({ ...REQUEST, key: 'invoice-7' }), first)
  assert.notEqual((await approvals.request({ ...REQUEST, key: 'invoice-8' })).id, first.id)
})

test('executes what was approved, frozen, once, and completes the session', async () => {
  const { approvals, approved, service } = approvalsOf()
  const ref = await approved()
  const { runs, run } = counted()
  assert.equal(await approvals.execute({ ...ref, args: ARGS }, run), 'sent')
  assert.deepEqual(runs, [ARGS])
  assert.ok(Object.isFrozen(runs[0]))
  assert.equal(service.session(ref.id)?.state, 'completed')
  assert.equal(service.session(ref.id)?.outcome, 'accepted')
  await assert.rejects(approvals.execute({ ...ref, args: ARGS }, run), { code: 'already_executed' })
  assert.equal(runs.length, 1)
  assert.deepEqual(await approvals.reconcile(), [])
})

test('one of many concurrent executions runs', async () => {
  const { approvals, approved } = approvalsOf()
  const ref = await approved()
  const { runs, run } = counted()
  const all = Array.from({ length: 20 }, () => approvals.execute({ ...ref, args: ARGS }, run))
  const settled = await Promise.allSettled(all)
  assert.equal(settled.filter(({ status }) => status === 'fulfilled').length, 1)
  assert.equal(runs.length, 1)
})

for (const [what, args] of [
  ['another amount', { ...ARGS, cents: 1 }],
  ['a further argument', { ...ARGS, note: 'x' } as Transfer],
] as const)
  test(`runs nothing with ${what} than the user approved`, async () => {
    const { approvals, approved } = approvalsOf()
    const ref = await approved()
    const { runs, run } = counted()
    const executed = approvals.execute({ ...ref, args }, run)
    await assert.rejects(executed, { code: 'not_approved', reasons: ['context_mismatch'] })
    assert.equal(runs.length, 0)
    assert.equal(await approvals.execute({ ...ref, args: ARGS }, run), 'sent')
  })

const SHOWN: readonly (readonly [string, Partial<GivenContext>])[] = [
  ['text', { text: '{\n  "cents": 1\n}' }],
  ['pairs', { display: [{ label: 'Amount', value: '€1' }] }],
  ['requester', { requester: { kind: 'person', name: 'Anna' } }],
]
for (const [what, change] of SHOWN)
  test(`runs nothing if the user was shown another ${what}`, async () => {
    const { approvals, approved, service } = approvalsOf()
    const ref = await approved()
    const context = service.session(ref.id)?.context
    assert.ok(context)
    service.change(ref.id, { context: { ...context, ...change } as SessionContext })
    const { runs, run } = counted()
    const executed = approvals.execute({ ...ref, args: ARGS }, run)
    await assert.rejects(executed, { code: 'not_approved', reasons: ['context_mismatch'] })
    assert.equal(runs.length, 0)
  })

test('runs nothing for another owner, and waits for none', async () => {
  const { approvals, approved } = approvalsOf()
  const { id } = await approved()
  const { runs, run } = counted()
  for (const owner of ['login-2', ''])
    for (const call of [
      () => approvals.execute({ id, owner, args: ARGS }, run),
      () => approvals.wait({ id, owner }),
    ])
      await assert.rejects(call, { code: 'approval_unknown' })
  assert.equal(runs.length, 0)
})

test('runs nothing after the version of the action was raised', async () => {
  const { approved, store, clock, service } = approvalsOf()
  const ref = await approved()
  const { runs, run } = counted()
  const { approvals } = approvalsOf({ store, clock, service, version: '2' })
  const executed = approvals.execute({ ...ref, args: ARGS }, run)
  await assert.rejects(executed, { code: 'not_approved' })
  assert.equal(runs.length, 0)
})

test('runs nothing for a weak bond, which needs a review', async () => {
  const { approvals, service } = approvalsOf()
  const { id } = await approvals.request(REQUEST)
  service.bond(id, { assertion_confidence: 0.1, human_presence_confidence: 0.1 })
  const ref = { id, owner: REQUEST.owner }
  assert.equal(await approvals.wait(ref), 'review')
  const { runs, run } = counted()
  await assert.rejects(approvals.execute({ ...ref, args: ARGS }, run), {
    code: 'not_approved',
    reasons: ['low_confidence'],
  })
  assert.equal(runs.length, 0)
})

test('an action that was not started can be executed again', async () => {
  const { approvals, approved } = approvalsOf()
  const ref = { ...(await approved()), args: ARGS }
  const closed = async () => {
    throw new NotStarted('the bank is closed')
  }
  await assert.rejects(approvals.execute(ref, closed), NotStarted)
  assert.equal(await approvals.execute(ref, counted().run), 'sent')
})

test('an action that threw has an unknown outcome, and runs no more by itself', async () => {
  const { approvals, approved } = approvalsOf()
  const ref = await approved()
  const cause = new Error('the connection was reset')
  const { runs, run } = counted()
  const failing = approvals.execute({ ...ref, args: ARGS }, async () => {
    throw cause
  })
  await assert.rejects(failing, { code: 'outcome_unknown', cause })
  await assert.rejects(approvals.execute({ ...ref, args: ARGS }, run), { code: 'outcome_unknown' })
  const [unknown] = await approvals.reconcile()
  assert.equal(unknown?.id, ref.id)
  assert.equal(unknown?.state, 'unknown')
  assert.equal(runs.length, 0)
})

for (const answer of ['done', 'failed'] as const)
  test(`an outcome that was reconciled as ${answer} is listed and runs no more`, async () => {
    const { approvals, approved, service, store } = approvalsOf()
    const ref = await approved()
    // The process ended while the action ran.
    await store.move(ref.id, 'waiting', 'running', 0)
    assert.deepEqual(await approvals.reconcile(async () => answer), [])
    assert.deepEqual(await approvals.reconcile(), [])
    const { runs, run } = counted()
    const again = approvals.execute({ ...ref, args: ARGS }, run)
    await assert.rejects(again, { code: 'already_executed' })
    assert.equal(runs.length, 0)
    const state = answer === 'done' ? 'completed' : 'bonded'
    assert.equal(service.session(ref.id)?.state, state)
  })

test('a completion that the service missed is repeated by reconcile', async () => {
  const { approvals, approved, service } = approvalsOf()
  const ref = await approved()
  const executed = approvals.execute({ ...ref, args: ARGS }, async () => {
    service.fault('refused', 'refused', 'refused', 'refused')
    return 'sent'
  })
  assert.equal(await executed, 'sent')
  assert.equal(service.session(ref.id)?.state, 'bonded')
  assert.deepEqual(await approvals.reconcile(), [])
  assert.equal(service.session(ref.id)?.state, 'completed')
})

test('an action that has happened returns its result, though its end is not stored', async () => {
  const memory = memoryApprovalStore()
  const store: ApprovalStore = {
    ...memory,
    move: async (id, from, to, at) => {
      if (to === 'done') throw new Error('the database is gone')
      return memory.move(id, from, to, at)
    },
  }
  const { approvals, approved, clock } = approvalsOf({ store })
  const ref = await approved()
  assert.equal(await approvals.execute({ ...ref, args: ARGS }, counted().run), 'sent')
  assert.deepEqual(await approvals.reconcile(), [])
  clock.advance(LEASE_MS)
  assert.equal((await approvals.reconcile())[0]?.state, 'running')
})

test('runs nothing if storing that it runs took longer than the check is valid', async () => {
  const memory = memoryApprovalStore()
  const slow = async (...move: Parameters<ApprovalStore['move']>) => {
    if (move[2] === 'running') clock.advance(30_000)
    return memory.move(...move)
  }
  const { approvals, approved, clock } = approvalsOf({ store: { ...memory, move: slow } })
  const ref = await approved()
  const { runs, run } = counted()
  await assert.rejects(approvals.execute({ ...ref, args: ARGS }, run), NotStarted)
  assert.equal(runs.length, 0)
  assert.equal((await memory.find(ref.id))?.state, 'waiting')
})

test('waits for the answer of the user, and through failures of the service', async () => {
  const { approvals, service, clock } = approvalsOf()
  const { id } = await approvals.request(REQUEST)
  const calls: string[] = []
  const sleep = clock.sleep.bind(clock)
  Object.assign(clock, {
    sleep: async (ms: number) => {
      calls.push('sleep')
      if (calls.length === 3) service.fault('refused', 'refused', 'refused', 'refused')
      if (calls.length === 12) service.bond(id)
      return sleep(ms)
    },
  })
  assert.equal(await approvals.wait({ id, owner: REQUEST.owner }), 'approved')
})

for (const [state, ended_reason, outcome] of [
  ['killed', 'user_declined', 'declined'],
  ['killed', 'user_unexpected', 'reported'],
  ['killed', 'killed_by_operator', 'ended'],
  ['expired', null, 'expired'],
  ['completed', null, 'executed'],
] as const)
  test(`waits until ${ended_reason ?? state}: ${outcome}`, async () => {
    const { approvals, service } = approvalsOf()
    const { id } = await approvals.request(REQUEST)
    service.change(id, { state, ended_reason })
    assert.equal(await approvals.wait({ id, owner: REQUEST.owner }), outcome)
  })

for (const [state, status] of [
  ['running', 'outcome_unknown'],
  ['unknown', 'outcome_unknown'],
  ['done', 'executed'],
  ['completed', 'executed'],
  ['reported_late', 'executed'],
  ['unreported', 'executed'],
  ['failed', 'ended'],
] as const)
  test(`the status of an action that is ${state} is ${status}, whatever the service has`, async () => {
    const { approvals, approved, store } = approvalsOf()
    const ref = await approved()
    assert.equal(await approvals.status(ref), 'approved')
    await store.move(ref.id, 'waiting', state, 0)
    assert.equal(await approvals.status(ref), status)
  })

test('a request that the service has deleted has expired', async () => {
  const { approvals, service } = approvalsOf()
  const { id } = await approvals.request(REQUEST)
  service.forget(id)
  assert.equal(await approvals.wait({ id, owner: REQUEST.owner }), 'expired')
})

test('a status and the latest request report that the service cannot be reached', async () => {
  const { approvals, service } = approvalsOf()
  const { id } = await approvals.request(REQUEST)
  for (const read of [
    () => approvals.status({ id, owner: REQUEST.owner }),
    () => approvals.latest(REQUEST),
  ]) {
    service.fault('refused', 'refused', 'refused', 'refused')
    await assert.rejects(read, {
      code: 'service_unavailable',
      retryable: true,
      message: /^The service at https?:\/\/\S+ did not answer: .*ECONNREFUSED/,
    })
  }
  assert.equal(await approvals.status({ id, owner: REQUEST.owner }), 'waiting')
})

test('a wait through an outage ends with the time of the user', async () => {
  const { approvals, service, clock } = approvalsOf()
  const { id, expiresInMs } = await approvals.request(REQUEST)
  const endsAt = clock.now() + expiresInMs
  const sleep = clock.sleep.bind(clock)
  service.fault('refused', 'refused', 'refused', 'refused')
  clock.sleep = (ms) => {
    service.fault('refused', 'refused', 'refused', 'refused')
    return sleep(ms)
  }
  const waiting = approvals.wait({ id, owner: REQUEST.owner })
  await assert.rejects(waiting, { code: 'service_unavailable', retryable: true })
  assert.ok(clock.now() >= endsAt, 'not before')
})

test('a wait ends with its signal', async () => {
  const { approvals, clock } = approvalsOf()
  const { id } = await approvals.request(REQUEST)
  const stop = new AbortController()
  clock.sleep = async () => stop.abort(new Error('the agent gave up'))
  const waiting = approvals.wait({ id, owner: REQUEST.owner }, { signal: stop.signal })
  await assert.rejects(waiting, /the agent gave up/)
})

for (const [what, args] of [
  ['a list', [1]],
  ['a function', { run: () => 1 }],
  ['an integer beyond 2^53', { ...ARGS, cents: 2 ** 60 }],
  ['a member __proto__', JSON.parse('{"__proto__":{"cents":1}}')],
] as const)
  test(`refuses ${what} as arguments, before any call`, async () => {
    const { approvals, service } = approvalsOf()
    const request = approvals.request({ ...REQUEST, args: args as Transfer })
    await assert.rejects(request, { code: 'arguments_invalid' })
    assert.equal(service.seen.length, 0)
  })

test('an execution that loses to one that was not started runs nothing', async () => {
  const memory = memoryApprovalStore()
  // Another process runs at this moment, and then says that it did not start.
  const race = async (...[id, from, to, at]: Parameters<ApprovalStore['move']>) => {
    if (to !== 'running') return memory.move(id, from, to, at)
    await memory.move(id, from, to, at)
    await memory.move(id, to, from, at)
    return false
  }
  const { approvals, approved } = approvalsOf({ store: { ...memory, move: race } })
  const ref = await approved()
  const { runs, run } = counted()
  await assert.rejects(approvals.execute({ ...ref, args: ARGS }, run), { code: 'outcome_unknown' })
  assert.equal(runs.length, 0)
})

test('reconcile deletes rows a day after their end', async () => {
  const { approvals, clock, store } = approvalsOf()
  const { id } = await approvals.request(REQUEST)
  clock.advance(DAY_MS)
  await approvals.reconcile()
  assert.equal((await store.find(id))?.state, 'waiting')
  clock.advance(HOUR_MS)
  await approvals.reconcile()
  assert.equal(await store.find(id), undefined)
})
