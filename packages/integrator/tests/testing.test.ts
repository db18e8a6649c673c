import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  COMPLETION_OUTCOMES,
  ENDED_REASONS,
  FullSession,
  PassportTier,
  REASON_NAMES,
  REASONS,
  SESSION_HINTS,
  SESSION_STATES,
  statusOf,
  WebhookEvent,
} from '@bonded/contract'
import { Value } from 'typebox/value'
import { harness as realService } from '../../../tests/harness/harness.ts'
import { checkReply } from '../../../tests/harness/openapi-replies.ts'
import {
  createGate,
  GateError,
  type GatePolicy,
  memoryPendingStore,
  VERDICT_REASONS,
  verifyReceipt,
  verifyWebhook,
} from '../src/index.ts'
import {
  everyOutcome,
  type SessionOutcome,
  TEST_REASONS,
  type TestBonded,
  testBonded,
} from '../src/testing/testing.ts'
import { DIGEST, OWNER, WORKFLOW } from './harness.ts'

process.env['BONDED_TEST_DOUBLE'] = 'on'

const PAGE = 'https://www.bank.example'
const SUBJECT = 's'.repeat(43)
const BROWSER_SECRET = 'b'.repeat(43)
/** Reasons that a submit has by itself, whatever the service answers. */
const OF_THE_SUBMIT = ['session_missing', 'session_not_ours', 'already_used']

/** A backend that requires all that a gate can require. */
function backend(bonded: TestBonded, policy: GatePolicy = {}) {
  const gate = createGate({
    ...bonded.service,
    store: memoryPendingStore(),
    policy: { tenant_id: bonded.tenantId, ...policy },
  })
  const context = { display: [{ label: 'Amount', value: '€1' }], digest: DIGEST }
  const bond = { ...WORKFLOW, owner: OWNER }
  return {
    gate,
    create: async () => (await gate.create({ ...bond, context, subject_ref: SUBJECT })).session.id,
    submitOf: (session_id: string) => ({
      ...bond,
      session_id,
      form_digest: DIGEST,
      browser_secret: BROWSER_SECRET,
    }),
  }
}
const STRICT: GatePolicy = {
  passport: { [WORKFLOW.workflow]: 'required' },
  requireBrowser: { [WORKFLOW.workflow]: { origin: PAGE } },
}
const nameOf = (outcome: SessionOutcome) =>
  [outcome.state, outcome.reason, outcome.tier].filter(Boolean).join(' ')

/** Calls the double as a backend does, and checks the reply as the published API describes it. */
async function call(bonded: TestBonded, method: 'GET' | 'POST', path: string, body?: object) {
  const response = await bonded.fetch(`https://bonded.test/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${bonded.service.serverCredential}` },
    ...(body && { body: JSON.stringify(body) }),
    redirect: 'manual',
    signal: new AbortController().signal,
  })
  const text = await response.text()
  const reply = { status: response.status, text, body: JSON.parse(text), headers: {} }
  checkReply(method, `/api/v1${path}`, reply)
  return reply
}

test('the table has every state, reason and tier of the contract', () => {
  const { pending, step_up_required, bonded, completed, killed, expired } = TEST_REASONS
  assert.deepEqual(Object.keys(TEST_REASONS).toSorted(), [...SESSION_STATES].toSorted())
  assert.deepEqual([...pending, ...step_up_required].toSorted(), [...SESSION_HINTS].toSorted())
  assert.deepEqual([completed, killed, expired], [COMPLETION_OUTCOMES, ENDED_REASONS, []])
  const states = ['session_unavailable', 'session_not_bonded', 'tenant_suspended']
  const verdicts = [...bonded, ...OF_THE_SUBMIT, ...states]
  assert.deepEqual(verdicts.toSorted(), VERDICT_REASONS.toSorted())
  const words = new Set(everyOutcome().map(nameOf))
  const tiers = (PassportTier as unknown as { enum: readonly string[] }).enum
  for (const state of SESSION_STATES)
    for (const reason of TEST_REASONS[state])
      for (const tier of state === 'bonded' || state === 'completed' ? tiers : [''])
        assert.ok(words.has([state, reason, tier].filter(Boolean).join(' ')), `${state} ${reason}`)
  assert.equal(words.size, everyOutcome().length)
})

test('answers in the shapes of the published API, in every outcome', async () => {
  for (const outcome of everyOutcome()) {
    const bonded = testBonded(outcome)
    const created = await call(bonded, 'POST', '/sessions', { ...WORKFLOW })
    assert.equal(created.status, 201)
    const read = await call(bonded, 'GET', `/sessions/${created.body.id}`)
    assert.deepEqual([read.status, read.body.state], [200, outcome.state], nameOf(outcome))
    assert.ok(Value.Check(FullSession, read.body), nameOf(outcome))
    for (const { body } of await bonded.deliveries(created.body.id))
      assert.ok(Value.Check(WebhookEvent, JSON.parse(body)), body)
  }
})

for (const reason of TEST_REASONS.bonded)
  test(`a gate answers a bonded session with ${reason} in every tier`, async () => {
    const policy =
      reason === 'passport_chip_missing' || reason === 'browser_not_proved' ? STRICT : {}
    for (const tier of ['none', 'document', 'chip'] as const) {
      if (reason === 'browser_not_proved' && tier !== 'chip') continue
      const browser = policy === STRICT ? { browser: PAGE } : {}
      const bonded = testBonded({ state: 'bonded', reason, tier, ...browser })
      const { gate, create, submitOf } = backend(bonded, policy)
      const verdict = await gate.verify(submitOf(await create()))
      assert.deepEqual(verdict.reasons, [reason])
    }
  })

test('a gate rejects every state but bonded, and accepts a bond that meets its policy', async () => {
  for (const outcome of everyOutcome()) {
    if (outcome.state === 'bonded') continue
    const { gate, create, submitOf } = backend(testBonded(outcome))
    const { reasons } = await gate.verify(submitOf(await create()))
    const own = outcome.reason === 'tenant_suspended'
    assert.deepEqual(reasons, [own ? outcome.reason : 'session_not_bonded'], nameOf(outcome))
  }
  const bonded = testBonded({ state: 'bonded', tier: 'chip', browser: PAGE })
  const { gate, create, submitOf } = backend(bonded, STRICT)
  const submit = submitOf(await create())
  assert.equal((await gate.verify(submit)).decision, 'accept')
  const withoutSecret = await gate.verify({ ...submit, browser_secret: undefined })
  assert.deepEqual(withoutSecret.reasons, ['verification_missing'])
})

test('a session takes one completion, and ends with its time', async () => {
  const bonded = testBonded()
  const { gate, create, submitOf } = backend(bonded)
  const submit = submitOf(await create())
  const done = await gate.protect({ ...submit, accept: async () => 'A-1' })
  assert.equal(done.outcome, 'completed')
  const { body } = await call(bonded, 'GET', `/sessions/${submit.session_id}`)
  const { state, outcome, expires_in_ms } = body
  assert.deepEqual([state, outcome, expires_in_ms], ['completed', 'accepted', 0])

  const late = submitOf(await create())
  bonded.advance(300_000)
  assert.deepEqual((await gate.verify(late)).reasons, ['session_not_bonded'])
  const read = await call(bonded, 'GET', `/sessions/${late.session_id}`)
  assert.equal(read.body.state, 'expired')
})

test('keeps the first report of a session that has expired after its bond', async () => {
  const bonded = testBonded()
  const { gate, create, submitOf } = backend(bonded)
  const submit = submitOf(await create())
  const slow = async () => (bonded.advance(900_000), 'A-1')
  const done = await gate.protect({ ...submit, accept: slow })
  assert.ok(done.outcome === 'completion_pending')
  const { code, retryable, reportedAt } = done.error
  assert.deepEqual([code, retryable], ['not_found', false])
  bonded.advance(1_000)
  const again = gate.complete(submit.session_id, { outcome: 'in_review' })
  await assert.rejects(again, { code: 'not_found', reportedAt })
  const { body } = await call(bonded, 'GET', `/sessions/${submit.session_id}`)
  const { state, outcome, reported_at } = body
  assert.deepEqual([state, outcome, reported_at], ['expired', 'accepted', reportedAt])
})

test('answers each rejection of the service, and the gate reports it without waiting', async () => {
  const bonded = testBonded()
  const { gate, create, submitOf } = backend(bonded)
  const submit = submitOf(await create())
  for (const rejection of REASON_NAMES) {
    bonded.set({ rejection })
    const { status, body } = await call(bonded, 'GET', '/unlisted')
    assert.deepEqual(
      [status, body.error.code, body.error.reason],
      [statusOf(rejection), REASONS[rejection].code, rejection],
    )
    const verdict = await gate.verify(submit)
    assert.deepEqual(verdict.reasons, ['session_unavailable'])
    assert.ok('error' in verdict && verdict.error?.reason === rejection, rejection)
  }
})

test('rejects what the service rejects in a create', async () => {
  const bonded = testBonded()
  const pair = { label: 'Amount', value: '€1' }
  const cases: readonly (readonly [body: object, param: string])[] = [
    [{ workflow: 7 }, 'workflow'],
    [{ context: { display: [{ label: 'Amount', value: 'a\u202eb' }] } }, 'context.display'],
    [{ context: { display: [pair, { ...pair, label: 'amount' }] } }, 'context.display'],
    [{ context: { display: [{ label: 'x'.repeat(65), value: 'x' }] } }, 'context.display'],
    [{ context: { display: [], text: 'x' } }, 'context.display'],
    [{ context: { display: [pair], text: 'a\tb' } }, 'context.text'],
    [
      { context: { display: [pair], requester: { kind: 'bank', name: 'x' } } },
      'context.requester.kind',
    ],
    [
      { context: { display: [pair], requester: { kind: 'agent', name: 'x\ny' } } },
      'context.requester',
    ],
    [{ context: { display: 'text' } }, 'context'],
    [{ owner: 'anna' }, 'owner'],
  ]
  for (const [body, param] of cases) {
    const reply = await call(bonded, 'POST', '/sessions', body)
    assert.deepEqual([reply.status, reply.body.error.param], [400, param], JSON.stringify(body))
  }
  const stranger = await bonded.fetch('https://bonded.test/api/v1/sessions', {
    method: 'POST',
    headers: {},
    redirect: 'manual',
    signal: new AbortController().signal,
  })
  assert.equal(stranger.status, 401)
})

test('signs receipts and deliveries, with keys that no other double accepts', async () => {
  const [bonded, other] = [testBonded({ state: 'killed', reason: 'user_unexpected' }), testBonded()]
  const { create } = backend(bonded)
  const id = await create()
  const clock = bonded.service.clock
  const deliveries = await bonded.deliveries(id)
  const types = deliveries.map(({ body }) => JSON.parse(body).type)
  assert.deepEqual(types, ['session.killed', 'session.reported'])
  for (const delivery of deliveries) {
    const verdict = await verifyWebhook({ ...delivery, secret: bonded.webhookSecret, clock })
    assert.equal(verdict.decision, 'accept')
    const foreign = await verifyWebhook({ ...delivery, secret: other.webhookSecret, clock })
    assert.deepEqual(foreign, { decision: 'reject', reason: 'signature_mismatch' })
  }

  assert.equal((await call(bonded, 'GET', `/sessions/${id}/receipt`)).status, 400)
  bonded.set({ state: 'bonded', tier: 'chip' })
  const { body } = await call(bonded, 'GET', `/sessions/${id}/receipt`)
  const keysOf = async (double: TestBonded) => {
    const signal = new AbortController().signal
    const init = { method: 'GET', headers: {}, redirect: 'manual', signal } as const
    return JSON.parse(
      await (await double.fetch('https://bonded.test/.well-known/jwks.json', init)).text(),
    )
  }
  const { tenantId } = bonded
  const verdict = await verifyReceipt({
    ...body,
    proof: undefined,
    jwks: await keysOf(bonded),
    tenantId,
  })
  assert.ok(verdict.decision === 'accept' && verdict.claims.session_id === id)
  const foreign = await verifyReceipt({ ...body, proof: undefined, jwks: await keysOf(other) })
  assert.deepEqual(foreign, { decision: 'reject', reason: 'signature_mismatch' })
})

test('has no outcome that the contract does not have, and runs only where the switch is on', () => {
  const isWrong = (failure: unknown) =>
    failure instanceof GateError && failure.code === 'invalid_configuration'
  assert.throws(() => testBonded({ state: 'open' } as never), /The states are pending, bonded/)
  assert.throws(() => testBonded({ state: 'killed', reason: 'low' } as never), /no reason low/)
  assert.throws(() => testBonded().set({ state: 'expired', reason: 'x' } as never), isWrong)
  try {
    for (const value of [undefined, '', 'off', '1', 'ON']) {
      delete process.env['BONDED_TEST_DOUBLE']
      if (value !== undefined) process.env['BONDED_TEST_DOUBLE'] = value
      assert.throws(() => testBonded(), isWrong, value)
    }
  } finally {
    process.env['BONDED_TEST_DOUBLE'] = 'on'
  }
})

test('shows a session in each state as the service shows it', async () => {
  await using h = await realService()
  const REACHED = {
    pending: 'waiting_for_scan',
    step_up_required: 'step_up',
    bonded: undefined,
    completed: undefined,
    killed: 'killed_by_tenant',
    expired: undefined,
  } as const
  for (const state of SESSION_STATES) {
    const { session } = await h.reach(state)
    const real: FullSession = (await h.get(session)).body
    const bonded = testBonded({ state, reason: REACHED[state] } as SessionOutcome)
    const { body: created } = await call(bonded, 'POST', '/sessions', { ...WORKFLOW })
    const { body } = await call(bonded, 'GET', `/sessions/${created.id}`)
    assert.deepEqual(stateOf(body), stateOf(real), state)
  }
})

/** The members of a session that depend on its state. */
function stateOf({ verification, subject_ref, ...session }: FullSession): object {
  const { state, hint, step_up, ended_reason, outcome } = session
  return {
    members: Object.keys(session).toSorted(),
    left: [session.expires_in_ms, session.challenge_expires_in_ms].map((ms) => ms > 0),
    rotates: session.challenge_rotates_in_ms > 0,
    proved: [verification, subject_ref].map((value) => value !== null),
    words: { state, hint, step_up, ended_reason, outcome },
  }
}
