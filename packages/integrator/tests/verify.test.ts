import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  adviceFor,
  bindingDigest,
  type RejectReason,
  type ReviewReason,
  VERDICT_REASONS,
} from '../src/index.ts'
import { GOOD_VERIFICATION, strangeSessionId, TENANT_ID } from './fake-service.ts'
import { harness, OWNER, WORKFLOW } from './harness.ts'

type Harness = ReturnType<typeof harness>
type Submit = Awaited<ReturnType<Harness['bonded']>>
const OTHER = 'e'.repeat(43)
/** Spoils a good submit; gives the submit to send. */
type Spoil = (h: Harness, submit: Submit) => object | Promise<object>

test('accepts a fresh bond of the same owner and returns its verification', async () => {
  const h = harness({ policy: { tenant_id: TENANT_ID } })
  const submit = await h.bonded()
  assert.deepEqual(await h.gate.verify(submit), {
    decision: 'accept',
    reasons: [],
    advice: [],
    session_id: submit.session_id,
    owner: OWNER,
    verification: GOOD_VERIFICATION,
    subject_ref: 's'.repeat(43),
  })
})

const spoilProof =
  (change: object): Spoil =>
  (h, submit) => {
    h.service.bond(submit.session_id, change)
    return submit
  }

/** Puts a row without an owner in place: what a store of another make may hold. */
async function disown(h: Harness, session_id: string, owner: unknown): Promise<void> {
  const row = await h.store.find(session_id)
  h.store.find = async () => row && { ...row, owner: owner as string }
}

const QUORUM = { id: `quo_${'0'.repeat(22)}`, needed: 2, of: 2 }

const rejections: Record<RejectReason, Spoil[]> = {
  one_of_several: [
    (h, submit) => (
      h.service.change(submit.session_id, {
        context: { display: [], digest: submit.form_digest, quorum: QUORUM },
      }),
      submit
    ),
    // As the service returns it alone: it has no verification, which is not why it is rejected.
    (h, submit) => (
      h.service.change(submit.session_id, {
        context: { display: [], digest: submit.form_digest, quorum: QUORUM },
        verification: null,
      }),
      submit
    ),
    (h, submit) => (
      h.service.change(submit.session_id, { context: { display: [], quorum: QUORUM } }),
      { ...submit, form_digest: undefined, acceptAnyContext: true }
    ),
  ],
  session_missing: [
    (_, submit) => ({ ...submit, session_id: undefined }),
    (_, submit) => ({ ...submit, session_id: '' }),
    (_, submit) => ({ ...submit, session_id: [submit.session_id] }),
  ],
  session_not_ours: [
    (_, submit) => ({ ...submit, owner: 'login-2' }),
    (_, submit) => ({ ...submit, session_id: strangeSessionId() }),
    (_, submit) => ({ ...submit, session_id: '../devices' }),
    (_, submit) => ({ ...submit, owner: undefined }),
    async (h, submit) => (
      await disown(h, submit.session_id, undefined), { ...submit, owner: undefined }
    ),
    async (h, submit) => (await disown(h, submit.session_id, ''), { ...submit, owner: '' }),
  ],
  session_unavailable: [
    (h, submit) => (h.service.forget(submit.session_id), submit),
    (h, submit) => (
      h.service.fault({ status: 503 }, { status: 503 }, { status: 503 }, { status: 503 }), submit
    ),
    (h, submit) => (h.service.change(submit.session_id, { id: strangeSessionId() }), submit),
  ],
  session_not_bonded: (
    ['pending', 'step_up_required', 'completed', 'killed', 'expired'] as const
  ).map(
    (state): Spoil =>
      (h, submit) => (h.service.change(submit.session_id, { state }), submit),
  ),
  tenant_suspended: [
    (h, submit) => (
      h.service.change(submit.session_id, { state: 'killed', ended_reason: 'tenant_suspended' }),
      submit
    ),
  ],
  workflow_mismatch: [(_, submit) => ({ ...submit, workflow: 'wire_transfer' })],
  action_mismatch: [(_, submit) => ({ ...submit, action: 'approve_wire' })],
  session_expired: [
    (h, submit) => (h.clock.advance(300_000), submit),
    (h, submit) => (h.service.change(submit.session_id, { expires_at: 'soon' }), submit),
  ],
  tenant_mismatch: [
    (h, submit) => (
      h.service.change(submit.session_id, { tenant_id: `ten_${'x'.repeat(22)}` }), submit
    ),
  ],
  verification_missing: [
    (h, submit) => (h.service.change(submit.session_id, { verification: null }), submit),
  ],
  device_not_possessed: [spoilProof({ device_possession: false })],
  local_auth_not_verified: [spoilProof({ local_auth: 'failed' })],
  passport_chip_missing: [
    async (h) => {
      const { session } = await h.gate.create({
        workflow: 'account_opening',
        action: 'open',
        owner: OWNER,
        acceptAnyContext: true,
      })
      h.service.bond(session.id, { passport: { tier: 'document' } })
      return { session_id: session.id, owner: OWNER, workflow: 'account_opening', action: 'open' }
    },
  ],
  context_mismatch: [
    async (h) => ({
      ...(await h.bonded({ digest: await bindingDigest({ amount: 1 }) })),
      form_digest: await bindingDigest({ amount: 2 }),
    }),
    async (_, submit) => ({ ...submit, form_digest: await bindingDigest({ amount: 1 }) }),
    // A service that returns another digest than create was given.
    (h, submit) => (
      h.service.change(submit.session_id, { context: { display: [], digest: OTHER } }), submit
    ),
    (h, submit) => (
      h.service.change(submit.session_id, { context: { display: [], digest: OTHER } }),
      { ...submit, form_digest: OTHER }
    ),
  ],
  context_missing: [
    (_, submit) => ({ ...submit, form_digest: undefined }),
    (_, submit) => ({ ...submit, form_digest: null }),
    (_, submit) => ({ ...submit, form_digest: undefined, acceptAnyContext: 'yes' }),
    (h, submit) => (h.service.change(submit.session_id, { context: null }), submit),
    (h, submit) => (h.service.change(submit.session_id, { context: { display: [] } }), submit),
    async (h) => ({ ...(await h.unbound()), acceptAnyContext: undefined }),
    async (h) => ({ ...(await h.unbound()), form_digest: OTHER }),
    async (h) => {
      const { session } = await h.gate.create({ ...WORKFLOW, owner: OWNER, acceptAnyContext: true })
      h.service.bond(session.id)
      return { session_id: session.id, owner: OWNER, ...WORKFLOW, form_digest: OTHER }
    },
    // A service that returns a digest for a session that was created without one.
    async (h) => {
      const unbound = await h.unbound()
      h.service.change(unbound.session_id, { context: { display: [], digest: OTHER } })
      return { ...unbound, form_digest: OTHER }
    },
  ],
  subject_mismatch: [
    async (h) => {
      const submit = await h.bonded({ subject_ref: 'a'.repeat(43) })
      h.service.change(submit.session_id, { subject_ref: 'b'.repeat(43) })
      return submit
    },
  ],
  browser_not_proved: [undefined, { origin: 'https://evil.example', proved_at: 'now' }, {}].map(
    (browser): Spoil =>
      async (h) => {
        const { session } = await h.gate.create({
          workflow: 'bound',
          action: 'act',
          owner: OWNER,
          acceptAnyContext: true,
        })
        h.service.bond(session.id, { browser } as object)
        return {
          session_id: session.id,
          owner: OWNER,
          workflow: 'bound',
          action: 'act',
          acceptAnyContext: true,
        }
      },
  ),
  already_used: [
    async (h, submit) => {
      await h.gate.protect({ ...submit, accept: async () => {} })
      return submit
    },
  ],
}

const reviews: Record<ReviewReason, object> = {
  low_confidence: { human_presence_confidence: 0.54 },
  sim_swap_recent: { carrier: { ...GOOD_VERIFICATION.carrier, sim_swap_recent: true } },
  low_continuity: { sensor_continuity: { motion_present: false, continuity_score: 0.59 } },
}

for (const [reason, spoils] of Object.entries(rejections)) {
  for (const [index, spoil] of spoils.entries()) {
    test(`a submit is rejected with ${reason} (${index + 1}) and its sentence`, async () => {
      const h = harness({
        policy: {
          tenant_id: TENANT_ID,
          passport: { account_opening: 'required' },
          requireBrowser: { bound: { origin: 'https://shop.example', firstBond: true } },
        },
      })
      const submit = (await spoil(h, await h.bonded())) as Submit
      const verdict = await h.gate.verify(submit)
      assert.deepEqual([verdict.decision, verdict.reasons], ['reject', [reason]])
      assert.deepEqual(verdict.advice, [adviceFor(reason as RejectReason)])
    })
  }
}

for (const [reason, change] of Object.entries(reviews)) {
  test(`returns a doubtful bond for review with ${reason} and its sentence`, async () => {
    const h = harness()
    const submit = await h.bonded()
    h.service.bond(submit.session_id, change)
    const verdict = await h.gate.verify(submit)
    assert.deepEqual([verdict.decision, verdict.reasons], ['review', [reason]])
    assert.deepEqual(verdict.advice, [adviceFor(reason as ReviewReason)])
  })
}

test('a session without a digest is accepted only with acceptAnyContext', async () => {
  const h = harness()
  const { acceptAnyContext: _optOut, ...strict } = await h.unbound()
  const bare = await h.gate.create({ ...WORKFLOW, owner: OWNER, acceptAnyContext: true })
  h.service.bond(bare.session.id)
  for (const submit of [strict, { ...strict, session_id: bare.session.id }]) {
    const verdict = await h.gate.verify(submit)
    assert.ok(verdict.decision === 'reject')
    assert.deepEqual(verdict.reasons, ['context_missing'])
    assert.equal(verdict.error?.code, 'invalid_request')
    assert.match(verdict.error?.message ?? '', /form_digest.*acceptAnyContext/)
    const lax = await h.gate.verify({ ...submit, acceptAnyContext: true })
    assert.equal(lax.decision, 'accept')
  }
})

test('tells no user that the form changed where the backend passed no digest', async () => {
  const h = harness()
  const { session } = await h.gate.create({ ...WORKFLOW, owner: OWNER, acceptAnyContext: true })
  h.service.bond(session.id)
  const submit = { session_id: session.id, owner: OWNER, ...WORKFLOW, form_digest: OTHER }
  const verdict = await h.gate.verify(submit)
  assert.ok(verdict.decision === 'reject')
  assert.doesNotMatch(verdict.advice.join(' '), /changed/)
  assert.match(verdict.error?.message ?? '', /created without context\.digest/)
})

test('acceptAnyContext does not accept a form digest that differs', async () => {
  const h = harness()
  const bound = await h.bonded({ digest: await bindingDigest({ amount: 1 }) })
  const other = { ...bound, form_digest: await bindingDigest({ amount: 2 }) }
  const verdict = await h.gate.verify({ ...other, acceptAnyContext: true })
  assert.deepEqual(verdict.reasons, ['context_mismatch'])
  const unbound = { ...(await h.unbound()), form_digest: OTHER }
  assert.deepEqual((await h.gate.verify(unbound)).reasons, ['context_missing'])
})

test('a review does not hide that a digest is missing', async () => {
  const h = harness()
  const unbound = await h.unbound()
  h.service.bond(unbound.session_id, { human_presence_confidence: 0.1 })
  const verdict = await h.gate.verify({ ...unbound, form_digest: OTHER })
  assert.deepEqual(verdict.reasons, ['context_missing'])
})

test('lists every reason, each with its own sentence', () => {
  assert.deepEqual(
    [...VERDICT_REASONS].sort(),
    [...Object.keys(rejections), ...Object.keys(reviews)].sort(),
  )
  const sentences = VERDICT_REASONS.map(adviceFor)
  assert.equal(new Set(sentences).size, sentences.length)
  for (const sentence of sentences) assert.match(sentence, /^[A-Z].{30,160}\.$/)
})

test('rejects a guessed session id without a call to the service', async () => {
  const h = harness()
  await h.gate.verify({ session_id: strangeSessionId(), owner: OWNER, ...WORKFLOW })
  await h.gate.verify({ session_id: '../../../etc', owner: OWNER, ...WORKFLOW })
  assert.equal(h.service.seen.length, 0)
})

test('uses the service’s time, not this machine’s', async () => {
  for (const serviceAheadMs of [-3_600_000, 3_600_000]) {
    const h = harness({ serviceAheadMs })
    const submit = await h.bonded()
    assert.equal((await h.gate.verify(submit)).decision, 'accept')
    h.clock.advance(300_000)
    assert.deepEqual((await h.gate.verify(submit)).reasons, ['session_expired'])
  }
})

test('uses the expiry that the bond moved forward', async () => {
  const h = harness()
  const submit = await h.bonded()
  h.service.change(submit.session_id, { expires_at: '2026-11-21T09:40:00.000Z' })
  h.clock.advance(360_000)
  assert.equal((await h.gate.verify(submit)).decision, 'accept')
})

test('logs an outage with its code', async () => {
  const h = harness()
  const submit = await h.bonded()
  h.service.fault('refused', 'refused', 'refused', 'refused')
  const verdict = await h.gate.verify(submit)
  assert.equal(verdict.decision === 'reject' && verdict.error?.code, 'service_unavailable')
})
