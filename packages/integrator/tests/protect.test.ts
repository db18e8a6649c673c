import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../tests/random.ts'
import { GateError, type PendingRow } from '../src/index.ts'
import type { Fault } from './fake-service.ts'
import { harness } from './harness.ts'

test('an accepted submit runs the action once and completes the session', async () => {
  const h = harness()
  const submit = await h.bonded()
  const outcome = await h.gate.protect({ ...submit, accept: async () => 'A-1' })
  assert.deepEqual(outcome, { outcome: 'completed', decision: 'accept', result: 'A-1' })
  assert.equal(h.service.completions(), 1)
})

test('of 50 concurrent submits of one bond exactly one runs the action', async () => {
  const h = harness()
  const submit = await h.bonded()
  let ran = 0
  const accept = async () => {
    await Promise.resolve()
    return ++ran
  }
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, () => h.gate.protect({ ...submit, accept })),
  )
  assert.equal(ran, 1)
  assert.equal(outcomes.filter(({ outcome }) => outcome === 'completed').length, 1)
  for (const outcome of outcomes)
    if (outcome.outcome === 'rejected') assert.deepEqual(outcome.reasons, ['already_used'])
  assert.equal(h.service.completions(), 1)
})

test('a rejected submit runs no action and does not use the bond', async () => {
  const h = harness()
  const submit = await h.bonded()
  const outcome = await h.gate.protect({
    ...submit,
    owner: 'login-2',
    accept: async () => assert.fail('ran'),
  })
  assert.equal(outcome.outcome, 'rejected')
  assert.equal((await h.gate.verify(submit)).decision, 'accept')
})

test('runs no action for a doubtful submit without a review callback', async () => {
  const h = harness()
  const submit = await h.bonded()
  h.service.bond(submit.session_id, { human_presence_confidence: 0.2 })
  const stopped = await h.gate.protect({ ...submit, accept: async () => assert.fail('ran') })
  assert.equal(stopped.outcome, 'review')
  const taken = await h.gate.protect({
    ...submit,
    accept: async () => assert.fail('ran'),
    review: async (_tx, verdict) => verdict.reasons,
  })
  assert.deepEqual(taken, { outcome: 'completed', decision: 'review', result: ['low_confidence'] })
})

test('sends the decision of a protected submit as its outcome', async () => {
  const h = harness()
  const outcomeOf = async (given: { confidence?: number }) => {
    const submit = await h.bonded()
    if (given.confidence !== undefined)
      h.service.bond(submit.session_id, { human_presence_confidence: given.confidence })
    await h.gate.protect({
      ...submit,
      accept: async () => 'accepted',
      review: async () => 'stored',
    })
    return h.service.session(submit.session_id)?.outcome
  }
  assert.equal(await outcomeOf({}), 'accepted')
  assert.equal(await outcomeOf({ confidence: 0.2 }), 'in_review')
})

test('completes with the outcome that the tenant names', async () => {
  const h = harness()
  const submit = await h.bonded()
  const verdict = await h.gate.verify(submit)
  assert.notEqual(verdict.decision, 'reject')
  if (verdict.decision !== 'reject') await h.gate.use(verdict, async () => {})
  await h.gate.complete(submit.session_id, { outcome: 'in_review' })
  await h.gate.complete(submit.session_id, { outcome: 'accepted' })
  assert.equal(h.service.session(submit.session_id)?.outcome, 'in_review')
})

test('leaves the bond unused when the action throws, so that the user can submit again', async () => {
  const h = harness()
  const submit = await h.bonded()
  const failing = h.gate.protect({
    ...submit,
    accept: async () => Promise.reject(new Error('disk full')),
  })
  await assert.rejects(failing, /disk full/)
  assert.equal(h.service.completions(), 0)
  assert.equal(
    (await h.gate.protect({ ...submit, accept: async () => 'A-2' })).outcome,
    'completed',
  )
})

test('a completion that fails after the commit is pending, and complete can be repeated', async () => {
  const h = harness()
  const submit = await h.bonded()
  const outcome = await h.gate.protect({
    ...submit,
    accept: async () => {
      h.service.fault({ status: 503 }, { status: 503 }, { status: 503 }, { status: 503 })
      return 'A-1'
    },
  })
  assert.equal(outcome.outcome, 'completion_pending')
  assert.ok(
    outcome.outcome === 'completion_pending' && outcome.result === 'A-1' && outcome.error.retryable,
  )
  await h.gate.complete(submit.session_id)
  await h.gate.complete(submit.session_id)
  assert.equal(h.service.completions(), 1)
})

test('reports the action as done if the store fails after the commit', async () => {
  const h = harness()
  const submit = await h.bonded()
  const outcome = await h.gate.protect({
    ...submit,
    accept: async () => {
      h.store.find = async () => Promise.reject(new Error('the database is away'))
      return 'A-1'
    },
  })
  assert.equal(outcome.outcome, 'completion_pending')
})

for (const [name, code, lose] of [
  ['rolled the use back', 'action_not_committed', (row: PendingRow) => ({ ...row, used_at: null })],
  ['has lost the row', 'session_unknown', () => undefined],
] as const)
  test(`rejects a commit that the store only claims: it ${name}`, async () => {
    const h = harness()
    const submit = await h.bonded()
    const find = h.store.find.bind(h.store)
    const accept = async () => {
      h.store.find = async (id) => {
        const row = await find(id)
        return row && lose(row)
      }
      return 'A-1'
    }
    await assert.rejects(h.gate.protect({ ...submit, accept }), { code })
    assert.equal(h.service.completions(), 0)
  })

test('reports a bond killed between commit and completion as not retryable', async () => {
  const h = harness()
  const submit = await h.bonded()
  const outcome = await h.gate.protect({
    ...submit,
    accept: async () => h.service.change(submit.session_id, { state: 'killed' }),
  })
  assert.ok(outcome.outcome === 'completion_pending')
  assert.deepEqual(
    [outcome.error.code, outcome.error.reason, outcome.error.retryable],
    ['invalid_request', 'session_not_bonded', false],
  )
})

test('verifies, uses and completes step by step, and rejects a second use', async () => {
  const h = harness()
  const submit = await h.bonded()
  const verdict = await h.gate.verify(submit)
  assert.ok(verdict.decision === 'accept')
  assert.deepEqual(await h.gate.use(verdict, async () => 'A-1'), { used: true, result: 'A-1' })
  assert.deepEqual(await h.gate.use(verdict, async () => assert.fail('ran')), {
    used: false,
    reason: 'already_used',
  })
  await h.gate.complete(submit.session_id)
  assert.equal(h.service.completions(), 1)
})

test('a session is not completed before its action has committed', async () => {
  const h = harness()
  const submit = await h.bonded()
  await assert.rejects(
    h.gate.complete(submit.session_id),
    (error) => error instanceof GateError && error.code === 'action_not_committed',
  )
  await assert.rejects(
    h.gate.complete('sess_junk'),
    (error) => error instanceof GateError && error.code === 'session_unknown',
  )
})

test('sends the bound digest with the completion', async () => {
  const h = harness()
  const digest = 'd'.repeat(43)
  await h.gate.protect({ ...(await h.bonded({ digest })), accept: async () => {} })
  assert.equal(h.service.seen.at(-1)?.headers['x-bond-context-digest'], digest)
})

test('whatever the network does, an action runs at most once and a session is completed at most once', async () => {
  const fault = fc.constantFrom<Fault | undefined>(
    undefined,
    undefined,
    'lost',
    'refused',
    'hang',
    'cut',
    { status: 503 },
    { status: 429 },
    { status: 500, body: '<html>' },
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(fault, { maxLength: 14 }),
      fc.integer({ min: 1, max: 5 }),
      async (faults, submits) => {
        const h = harness()
        const submit = await h.bonded()
        h.service.fault(...faults)
        let ran = 0
        for (let sent = 0; sent < submits; sent++)
          await h.gate.protect({ ...submit, accept: async () => ++ran })
        assert.ok(ran <= 1)
        assert.ok(h.service.completions() <= ran)
        if (ran === 1) await retryUntilDone(() => h.gate.complete(submit.session_id))
        assert.equal(h.service.completions(), ran)
      },
    ),
    { numRuns: 300 },
  )
})

async function retryUntilDone(call: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof GateError && error.retryable)) throw error
    }
  }
}
