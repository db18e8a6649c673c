import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { CreatedSession, SessionState } from '@bonded/contract'
import { fc, IS_FRESH } from '../../../../tests/random.ts'
import { harness, type Reply } from '../../../../tests/harness/harness.ts'
import {
  attestation,
  carriedSignals,
  type SeenSession,
  type TestPhone,
} from '../../../../tests/harness/phone.ts'

/** Random histories a run. The states table must hold in every one of them. */
const HISTORIES = IS_FRESH ? 2_000 : 600

const h = await harness({
  workflows: [
    {
      name: 'w',
      actions: ['a'],
      require: ['local_auth'],
      session_ttl_seconds: 60,
      bonded_ttl_seconds: 90,
    },
  ],
})
after(() => h[Symbol.asyncDispose]())
const phones = [await h.register(), await h.register()] as const

/** The states table, written a second time in the plainest way: what the service is held to. */
interface Model {
  state: SessionState
  endedReason: string | null
  pinned: 0 | 1 | null
  validAssertions: number
  /** Per phone: assertions that did not verify. */
  failures: [number, number]
  expiresAt: number
  bonded: boolean
}

interface Real {
  readonly session: CreatedSession
  readonly replies: string[]
  /** The bodies that bonded, to be sent again. */
  bond: { phone: 0 | 1; body: object } | undefined
}

type Action = {
  readonly toString: () => string
  readonly run: (model: Model, real: Real) => Promise<void>
}

function now(model: Model): void {
  if (
    ['pending', 'step_up_required', 'bonded'].includes(model.state) &&
    h.clock.now() >= model.expiresAt
  )
    model.state = 'expired'
}
const awaitsPhone = (model: Model) =>
  model.state === 'pending' || model.state === 'step_up_required'

function isRejected(reply: Reply, reason: string): void {
  assert.deepEqual([reply.status >= 400, reply.body?.error?.reason], [true, reason], reply.text)
}

/** The phone's view, where it has one; else what it would have kept. */
async function seen(phone: TestPhone, { session }: Real): Promise<SeenSession> {
  const view = await h.view(phone, session)
  return 'id' in view
    ? view
    : { ...session, tenant_name: '', requesting_origin: null, created_at: session.server_time }
}

/** What any call of this phone is rejected with, before it is looked at more closely. */
function rejectionFor(model: Model, who: 0 | 1): string | undefined {
  if (!awaitsPhone(model)) return 'session_not_live'
  // In a step-up only the pinned phone knows the nonce.
  if (model.state === 'step_up_required' && model.pinned !== who) return 'challenge_expired'
  if (model.failures[who] >= 5) return 'device_not_usable'
  if (model.pinned !== null && model.pinned !== who) return 'session_claimed'
  return undefined
}

const claim = (who: 0 | 1): Action => ({
  toString: () => `claim(${who})`,
  async run(model, real) {
    const phone = phones[who]
    const reply = await h.claim(phone, await seen(phone, real))
    const rejection = rejectionFor(model, who)
    if (rejection !== undefined) return isRejected(reply, rejection)
    assert.equal(reply.status, 200, reply.text)
    model.pinned = who
  },
})

const decline = (who: 0 | 1, reason: 'user_declined' | 'user_unexpected'): Action => ({
  toString: () => `decline(${who}, ${reason})`,
  async run(model, real) {
    const phone = phones[who]
    const reply = await h.decline(phone, await seen(phone, real), reason)
    const rejection = rejectionFor(model, who)
    if (rejection !== undefined) return isRejected(reply, rejection)
    assert.equal(reply.body.state, 'killed')
    Object.assign(model, { state: 'killed', endedReason: reason, pinned: who })
  },
})

const attest = (who: 0 | 1, kind: 'good' | 'weak' | 'forged'): Action => ({
  toString: () => `attest(${who}, ${kind})`,
  async run(model, real) {
    const phone = phones[who]
    const view = await seen(phone, real)
    const signals = carriedSignals(h.clock.now(), 5)
    const weak = {
      ...signals,
      local_auth: { result: 'failed' as const, method: 'none' as const, verified_at: h.now() },
    }
    const evidence = await h.evidence(phone, view, kind === 'weak' ? weak : signals)
    const rejection = rejectionFor(model, who)
    if (rejection !== undefined) return isRejected(evidence, rejection)
    assert.equal(evidence.status, 200, evidence.text)

    const tampering = kind === 'forged' ? { appId: 'forged' } : {}
    const body = attestation(phone, view, evidence.body.verified_evidence, h.now(), tampering)
    const reply = await h.api('POST', '/attestations', { token: phone.device_token, body })
    if (kind === 'forged') {
      isRejected(reply, 'assertion_invalid')
      model.failures[who] += 1
      if (model.failures[who] >= 5 && model.pinned === who)
        Object.assign(model, { state: 'killed', endedReason: 'too_many_attempts' })
      return
    }
    model.pinned = who
    model.validAssertions += 1
    if (kind === 'good') {
      assert.equal(reply.body.state, 'bonded', reply.text)
      real.bond = { phone: who, body }
      Object.assign(model, {
        state: 'bonded',
        bonded: true,
        expiresAt: Math.max(model.expiresAt, h.clock.now() + 90_000),
      })
    } else if (model.validAssertions >= 3) {
      isRejected(reply, 'policy_not_met')
      Object.assign(model, { state: 'killed', endedReason: 'policy_not_met' })
    } else {
      assert.deepEqual(
        [reply.body.state, reply.body.step_up.attempts_left],
        ['step_up_required', 3 - model.validAssertions],
      )
      model.state = 'step_up_required'
    }
  },
})

const replay: Action = {
  toString: () => 'replay',
  async run(model, real) {
    if (real.bond === undefined) return
    const reply = await h.api('POST', '/attestations', {
      token: phones[real.bond.phone].device_token,
      body: real.bond.body,
    })
    if (model.state === 'bonded' || model.state === 'completed')
      assert.equal(reply.body.state, model.state, reply.text)
    else isRejected(reply, 'session_not_live')
  },
}

const complete = (secret: 'right' | 'wrong'): Action => ({
  toString: () => `complete(${secret})`,
  async run(model, { session }) {
    const reply = await h.complete(
      secret === 'right' ? session : { ...session, completion_secret: `bcs_${'A'.repeat(43)}` },
    )
    if (model.state === 'expired') return isRejected(reply, 'session_not_found')
    if (secret === 'wrong') return isRejected(reply, 'completion_secret_mismatch')
    if (model.state !== 'bonded' && model.state !== 'completed')
      return isRejected(reply, 'session_not_bonded')
    assert.deepEqual(reply.body, { ok: true, session_id: session.id })
    model.state = 'completed'
  },
})

const kill: Action = {
  toString: () => 'kill',
  async run(model, { session }) {
    const reply = await h.kill(session)
    if (model.state === 'expired') return isRejected(reply, 'session_not_found')
    assert.equal(reply.status, 204)
    if (model.state !== 'killed' && model.state !== 'completed')
      Object.assign(model, { state: 'killed', endedReason: 'killed_by_tenant' })
  },
}

const wait = (seconds: number): Action => ({
  toString: () => `wait(${seconds}s)`,
  async run() {
    h.clock.advance(seconds * 1_000)
  },
})

const who = fc.constantFrom<0 | 1>(0, 1)
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 3, arbitrary: who.map(claim) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        who,
        fc.constantFrom<'user_declined' | 'user_unexpected'>('user_declined', 'user_unexpected'),
      )
      .map(([phone, reason]) => decline(phone, reason)),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(who, fc.constantFrom<'good' | 'weak' | 'forged'>('good', 'weak', 'forged'))
      .map(([phone, kind]) => attest(phone, kind)),
  },
  { weight: 1, arbitrary: fc.constant(replay) },
  { weight: 2, arbitrary: fc.constantFrom<'right' | 'wrong'>('right', 'wrong').map(complete) },
  { weight: 1, arbitrary: fc.constant(kill) },
  { weight: 2, arbitrary: fc.constantFrom(1, 20, 45).map(wait) },
)

test(`in ${HISTORIES} random histories the service moves exactly as the states table says`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 9 }), async (actions) => {
      const session = await h.create({})
      const model: Model = {
        state: 'pending',
        endedReason: null,
        pinned: null,
        validAssertions: 0,
        failures: [0, 0],
        expiresAt: h.clock.now() + 60_000,
        bonded: false,
      }
      const real: Real = { session, replies: [], bond: undefined }
      let seq = 1
      for (const step of actions) {
        now(model)
        const before = model.state
        await step.run(model, real)
        now(model)
        const view = (await h.get(session)).body
        assert.equal(view.state, model.state)
        assert.equal(view.ended_reason, model.endedReason)
        assert.equal(
          view.verification !== null,
          model.state === 'bonded' || model.state === 'completed',
        )
        // Each transition is exactly one step of seq, except an end that is not stored yet.
        if (before !== model.state && model.state !== 'expired')
          assert.ok(view.seq > seq, `seq stood still from ${before} to ${model.state}`)
        seq = view.seq
      }
      await isOneHistory(session)
    }),
    { numRuns: HISTORIES },
  )
})

/** The stored events are numbered 1, 2, 3, … and hold each transition once. */
async function isOneHistory(session: CreatedSession): Promise<void> {
  const { entries } = (
    await h.api('GET', `/sessions/${session.id}/timeline`, { token: h.shop.server })
  ).body
  const events = entries.filter(({ seq }: { seq: number | null }) => seq !== null)
  assert.deepEqual(
    events.map(({ seq }: { seq: number }) => seq),
    events.map((_: unknown, index: number) => index + 1),
  )
  for (const kind of ['bonded', 'completed', 'killed', 'expired', 'step_up_required']) {
    assert.ok(
      events.filter((event: { kind: string }) => event.kind === kind).length <= 1,
      `${kind} twice`,
    )
  }
}
