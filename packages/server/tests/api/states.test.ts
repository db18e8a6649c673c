import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { CreatedSession, VerifiedEvidence } from '@bonded/contract'
import { harness, type Reply, SHOP_ORIGIN, type State } from '../../../../tests/harness/harness.ts'
import {
  attestation,
  carriedSignals,
  type SeenSession,
  type TestPhone,
} from '../../../../tests/harness/phone.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

const STATES: readonly State[] = [
  'pending',
  'step_up_required',
  'bonded',
  'completed',
  'killed',
  'expired',
]

/** What a call returns on a session of a state, and the state it leaves. */
interface Row {
  readonly call: string
  readonly run: (session: CreatedSession, phone: TestPhone) => Promise<Reply>
  readonly responses: Readonly<
    Record<State, readonly [status: number, reason: string | null, next: State]>
  >
}

const cancel = (session: CreatedSession) =>
  h.api('POST', `/sessions/${session.id}/cancel`, {
    token: h.shop.publishable,
    headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
  })
const okTo = (next: State, status = 200) => [status, null, next] as const
const no = (state: State, reason: string, status = 400) => [status, reason, state] as const
const notLive = {
  bonded: no('bonded', 'session_not_live'),
  completed: no('completed', 'session_not_live'),
  killed: no('killed', 'session_not_live'),
  expired: no('expired', 'session_not_live'),
}

/** The phone's view where it has one; else what it would hold from before. */
async function seen(session: CreatedSession, phone: TestPhone) {
  const view = await h.view(phone, session)
  return 'id' in view
    ? view
    : { ...session, tenant_name: '', requesting_origin: null, created_at: session.server_time }
}

const TABLE: readonly Row[] = [
  {
    call: 'claim',
    run: async (session, phone) => h.claim(phone, await seen(session, phone)),
    responses: { pending: okTo('pending'), step_up_required: okTo('step_up_required'), ...notLive },
  },
  {
    call: 'decline',
    run: async (session, phone) => h.decline(phone, await seen(session, phone)),
    responses: { pending: okTo('killed'), step_up_required: okTo('killed'), ...notLive },
  },
  {
    call: 'decline as not me',
    run: async (session, phone) => h.decline(phone, await seen(session, phone), 'user_unexpected'),
    responses: { pending: okTo('killed'), step_up_required: okTo('killed'), ...notLive },
  },
  {
    call: 'evidence',
    run: async (session, phone) => h.evidence(phone, await seen(session, phone)),
    responses: { pending: okTo('pending'), step_up_required: okTo('step_up_required'), ...notLive },
  },
  {
    call: 'attest',
    run: async (session, phone) => h.attest(phone, await seen(session, phone)),
    responses: { pending: okTo('bonded'), step_up_required: okTo('bonded'), ...notLive },
  },
  {
    call: 'form-completed',
    run: (session) => h.complete(session),
    responses: {
      pending: no('pending', 'session_not_bonded'),
      step_up_required: no('step_up_required', 'session_not_bonded'),
      bonded: okTo('completed'),
      completed: okTo('completed'),
      killed: no('killed', 'session_not_bonded'),
      expired: no('expired', 'session_not_found', 404),
    },
  },
  {
    call: 'DELETE',
    run: (session) => h.kill(session),
    responses: {
      pending: okTo('killed', 204),
      step_up_required: okTo('killed', 204),
      bonded: okTo('killed', 204),
      completed: okTo('completed', 204),
      killed: okTo('killed', 204),
      expired: no('expired', 'session_not_found', 404),
    },
  },
  {
    call: 'a cancel by the page',
    run: (session) => cancel(session),
    responses: {
      pending: okTo('killed'),
      step_up_required: okTo('killed'),
      bonded: okTo('bonded'),
      completed: okTo('completed'),
      killed: okTo('killed'),
      expired: okTo('expired'),
    },
  },
  {
    call: 'the end of its time',
    run: async (session) => {
      h.clock.advance(300_000)
      return h.get(session)
    },
    responses: {
      pending: okTo('expired'),
      step_up_required: okTo('expired'),
      bonded: okTo('expired'),
      completed: okTo('completed'),
      killed: okTo('killed'),
      expired: okTo('expired'),
    },
  },
]

for (const { call, run, responses } of TABLE) {
  for (const state of STATES) {
    const [status, reason, next] = responses[state]
    const said = reason === null ? `leads to ${next}` : `is refused with ${reason}`
    test(`${call} on a session that is ${state} ${said}`, async () => {
      const { session, phone } = await h.reach(state)
      const before = (await h.get(session)).body
      const reply = await run(session, phone)
      assert.equal(reply.status, status, reply.text)
      assert.equal(reply.body?.error?.reason ?? null, reason)
      const now = (await h.get(session)).body
      assert.equal(now.state, next)
      // A rejected call, and one that changes nothing, leave no event behind.
      if (next === state && !['claim', 'evidence', 'the end of its time'].includes(call))
        assert.equal(now.seq, before.seq)
      if (next !== state && call !== 'the end of its time') assert.ok(now.seq > before.seq)
    })
  }
}

test('reports each end reason to the backend, and to the browser without the failing proof', async () => {
  const { session, phone } = await h.reach('pending')
  await h.decline(phone, session, 'user_unexpected')
  assert.equal((await h.get(session)).body.ended_reason, 'user_unexpected')
  const killed = await h.reach('killed')
  assert.equal((await h.get(killed.session)).body.ended_reason, 'killed_by_tenant')
  const left = await h.reach('pending')
  const { state, ended_reason, verification, context } = (await cancel(left.session)).body
  assert.deepEqual([state, ended_reason], ['killed', 'canceled'])
  assert.deepEqual([verification, context], [null, undefined], 'the public view')
  assert.equal((await h.get(left.session)).body.ended_reason, 'canceled')
})

test('does not reveal to a browser which proof failed', async () => {
  const asBrowser = async (session: CreatedSession) => {
    const headers = { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token }
    return (await h.api('GET', `/sessions/${session.id}`, { token: h.shop.publishable, headers }))
      .body.ended_reason
  }
  const forged = await h.reach('pending')
  await h.claim(forged.phone, forged.session)
  for (let attempt = 0; attempt < 5; attempt++)
    await h.attest(forged.phone, await h.view(forged.phone, forged.session), {
      tampering: { appId: 'x' },
    })
  const missed = await h.reach('step_up_required')
  for (let attempt = 0; attempt < 2; attempt++) {
    const signals = {
      local_auth: { result: 'failed' as const, method: 'none' as const, verified_at: h.now() },
    }
    await h.attest(missed.phone, await h.view(missed.phone, missed.session), { signals })
  }
  const killed = await h.reach('killed')
  assert.deepEqual(
    [
      await asBrowser(forged.session),
      await asBrowser(missed.session),
      await asBrowser(killed.session),
    ],
    ['not_verified', 'not_verified', 'killed'],
  )
})

test('the third valid assertion that misses the policy ends the session', async () => {
  const { session, phone } = await h.reach('step_up_required')
  const weak = () => ({
    ...carriedSignals(h.clock.now()),
    local_auth: { result: 'failed' as const, method: 'none' as const, verified_at: h.now() },
  })
  const first = await h.view(phone, session)
  assert.equal(first.state, 'step_up_required')
  assert.deepEqual(first.step_up, {
    required: ['local_auth'],
    attempts_left: 2,
    reasons: ['local_auth_not_verified'],
  })
  const second = await h.attest(phone, first, { signals: weak() })
  assert.equal(second.body.state, 'step_up_required')
  assert.equal(second.body.step_up.attempts_left, 1)
  assert.notEqual(second.body.nonce, first.nonce)
  const third = await h.attest(phone, second.body, { signals: weak() })
  assert.equal(third.status, 400)
  assert.equal(third.body.error.reason, 'policy_not_met')
  const ended = (await h.get(session)).body
  assert.deepEqual([ended.state, ended.ended_reason], ['killed', 'policy_not_met'])
})

test('finds a phone’s session by its nonce, across a step-up and after the bond', async () => {
  const { session, phone } = await h.reach('step_up_required')
  const stepping = await h.view(phone, session)
  assert.equal((await h.attest(phone, stepping)).body.state, 'bonded')
  assert.equal((await h.view(phone, session)).state, 'bonded')
})

test('hides the verification of a session after it was killed', async () => {
  const { session, phone } = await h.reach('bonded')
  assert.ok((await h.get(session)).body.verification)
  await h.kill(session)
  const { verification, subject_ref } = (await h.get(session)).body
  assert.deepEqual(
    [verification, subject_ref, (await h.view(phone, session)).verification],
    [null, null, null],
  )
})

test('reports an old step nonce as an expired challenge', async () => {
  const { session, phone } = await h.reach('step_up_required')
  const first = await h.view(phone, session)
  await h.attest(phone, first, {
    signals: { local_auth: { result: 'failed', method: 'none', verified_at: h.now() } },
  })
  const late = await h.attest(phone, first)
  assert.equal(late.body.error.reason, 'challenge_expired')
})

test('ends the session at the pinned phone’s fifth invalid assertion', async () => {
  const { session, phone } = await h.reach('pending')
  await h.claim(phone, session)
  const view = await h.view(phone, session)
  for (let attempt = 1; attempt <= 5; attempt++) {
    const before = (await h.get(session)).body.state
    assert.equal(before, 'pending', `before attempt ${attempt}`)
    const rejected = await h.attest(phone, view, { tampering: { appId: 'another app' } })
    assert.equal(rejected.body.error.reason, 'assertion_invalid')
  }
  const ended = (await h.get(session)).body
  assert.deepEqual([ended.state, ended.ended_reason], ['killed', 'too_many_attempts'])
})

test('counts forged evidence towards the five failures, like a forged assertion', async () => {
  const { session, phone } = await h.reach('pending')
  const view = (await h.claim(phone, session)).body
  const { verified_evidence } = (await h.evidence(phone, view)).body
  const forged = {
    ...verified_evidence,
    sensor_continuity: { ...verified_evidence.sensor_continuity, continuity_score: 0.123 },
  }
  for (let attempt = 1; attempt <= 5; attempt++)
    await h.api('POST', '/attestations', forgery(phone, view, forged))
  assert.equal((await h.get(session)).body.ended_reason, 'too_many_attempts')
})

test('does not count a stale counter as a forgery: six retries end nothing', async () => {
  const { session, phone } = await h.reach('pending')
  const view = (await h.claim(phone, session)).body
  const { verified_evidence } = (await h.evidence(phone, view)).body
  for (let attempt = 1; attempt <= 6; attempt++)
    await h.api('POST', '/attestations', forgery(phone, view, verified_evidence, phone.counter))
  assert.equal((await h.attest(phone, view)).body.state, 'bonded')
  assert.equal((await h.get(session)).body.state, 'bonded')
})

function forgery(
  phone: TestPhone,
  view: SeenSession,
  evidence: VerifiedEvidence,
  counter?: number,
) {
  return {
    token: phone.device_token,
    body: attestation(phone, view, evidence, h.now(), counter === undefined ? {} : { counter }),
  }
}

test('excludes another phone at its fifth failure without ending the session', async () => {
  const { session, phone } = await h.reach('pending')
  const forger = await h.register()
  const view = await h.view(forger, session)
  for (let attempt = 1; attempt <= 5; attempt++)
    await h.attest(forger, view, { tampering: { appId: 'another app' } })
  assert.equal((await h.attest(forger, view)).body.error.reason, 'device_not_usable')
  assert.equal((await h.get(session)).body.state, 'pending')
  await h.claim(phone, session)
  assert.equal((await h.attest(phone, await h.view(phone, session))).body.state, 'bonded')
})
