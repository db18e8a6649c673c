import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { fc, IS_FRESH } from '../../../../tests/random.ts'
import {
  browserProof,
  newBrowserSecret,
  newPasskey,
} from '../../../../tests/harness/browser-proof.ts'
import {
  harness,
  PUBLIC_ORIGIN,
  type Reply,
  SHOP_ORIGIN,
} from '../../../../tests/harness/harness.ts'
import { attestation } from '../../../../tests/harness/phone.ts'

/*
 * Both proofs of a session that requires the browser (protocol 14), in random orders, with requests
 * sent again after a lost response, wrong proofs, strangers, ends and expiry. None with both proofs
 * stays unbonded, none bonds with one, and no attempt is counted.
 */

const [SESSION_TTL_MS, BONDED_TTL_MS] = [600_000, 90_000]
/** The design's numbers: how long an approval waits, its evidence is current, and its failures. */
const [PROOF_MS, EVIDENCE_MS, FAILURES] = [120_000, 300_000, 8]
/** How long the nonce of the QR code is valid for sure. An approval pins it. */
const NONCE_MS = 60_000

const h = await harness({
  workflows: [
    {
      name: 'bound',
      actions: ['act'],
      require: ['browser'],
      session_ttl_seconds: SESSION_TTL_MS / 1_000,
      bonded_ttl_seconds: BONDED_TTL_MS / 1_000,
    },
  ],
})
after(() => h[Symbol.asyncDispose]())
/** A database of its own process is slower. */
const HISTORIES = IS_FRESH ? 400 : h.databaseUrl === undefined ? 150 : 80
const { authenticator, key } = newPasskey(PUBLIC_ORIGIN)
const stranger = newPasskey(PUBLIC_ORIGIN).authenticator
const phone = await h.register(undefined, key)

type Phase = 'claimed' | 'approved' | 'recalled' | 'bonded' | 'ended'
type Proof = ReturnType<typeof browserProof>

/** What the service is held to, in the plainest way. */
interface Model {
  phase: Phase
  readonly createdAt: number
  expiresAt: number
  evidenceUntil: number
  failures: number
  /** The commitment that bonded. */
  bondedBy: string | undefined
}

interface Real {
  readonly session: CreatedSession
  readonly secret: string
  approval: object | undefined
  proof: Proof | undefined
  /** Whether the phone has signed since the proof, so that the proof's counter is too low. */
  isProofStale: boolean
}

interface Action {
  readonly toString: () => string
  readonly run: (model: Model, real: Real) => Promise<void>
}

const reasonOf = (reply: Reply) => reply.body?.error?.reason
function isRejected(reply: Reply, ...reasons: readonly string[]): void {
  assert.ok(reply.status >= 400 && reasons.includes(reasonOf(reply)), reply.text)
}

function passTime(model: Model): void {
  if (model.phase !== 'ended' && h.clock.now() >= model.expiresAt) model.phase = 'ended'
}

const isNonceOld = ({ phase, createdAt }: Model) =>
  phase === 'claimed' && h.clock.now() - createdAt >= NONCE_MS

const prove = ({ session }: Real, proof: object, headers: Readonly<Record<string, string>> = {}) =>
  h.api('POST', `/sessions/${session.id}/browser`, {
    token: h.shop.publishable,
    headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token, ...headers },
    body: proof,
  })

const newProof = ({ session, secret }: Real, signer = authenticator, sessionId = session.id) =>
  browserProof(signer, {
    sessionId,
    tenantId: h.shop.tenant.id,
    workflow: 'bound',
    action: 'act',
    origin: SHOP_ORIGIN,
    secret,
  })

const sendApproval = (body: object) =>
  h.api('POST', '/attestations', { token: phone.device_token, body })

const approve: Action = {
  toString: () => 'approve',
  async run(model, real) {
    if (model.phase === 'bonded' || model.phase === 'ended' || isNonceOld(model)) return
    const view = await h.view(phone, real.session)
    const { verified_evidence } = (await h.evidence(phone, view)).body
    real.approval = attestation(phone, view, verified_evidence, h.now())
    real.isProofStale = true
    const reply = await sendApproval(real.approval)
    assert.deepEqual([reply.status, reply.body.step_up?.required], [200, ['browser']], reply.text)
    const now = h.clock.now()
    Object.assign(model, {
      phase: 'approved',
      failures: 0,
      evidenceUntil: now + EVIDENCE_MS,
      expiresAt: Math.max(
        model.expiresAt,
        Math.min(now, model.createdAt + SESSION_TTL_MS) + PROOF_MS,
      ),
    })
  },
}

const approveAgain: Action = {
  toString: () => 'approve again, with the same bytes',
  async run(model, real) {
    if (real.approval === undefined) return
    const reply = await sendApproval(real.approval)
    if (model.phase === 'ended') isRejected(reply, 'session_not_live', 'session_not_found')
    else assert.equal(reply.status, 200, reply.text)
  },
}

async function sendProof(model: Model, real: Real, proof: Proof, isValid: boolean): Promise<void> {
  const reply = await prove(real, proof)
  if (model.phase === 'bonded' && model.bondedBy === proof.commitment)
    return assert.deepEqual([reply.status, reply.body.state], [200, 'bonded'])
  if (model.phase !== 'approved') return isRejected(reply, 'session_not_live', 'session_not_found')
  if (h.clock.now() >= model.evidenceUntil) {
    isRejected(reply, 'session_not_live')
    model.phase = 'recalled'
  } else if (isValid) {
    assert.deepEqual([reply.status, reply.body.state], [200, 'bonded'], reply.text)
    Object.assign(model, {
      phase: 'bonded',
      bondedBy: proof.commitment,
      expiresAt: Math.max(model.expiresAt, h.clock.now() + BONDED_TTL_MS),
    })
  } else {
    isRejected(reply, 'browser_proof_invalid')
    model.failures += 1
    if (model.failures === FAILURES) model.phase = 'recalled'
  }
}

const confirm: Action = {
  toString: () => 'confirm',
  async run(model, real) {
    real.proof = newProof(real)
    real.isProofStale = false
    await sendProof(model, real, real.proof, true)
  },
}

const confirmAgain: Action = {
  toString: () => 'confirm again, with the same bytes',
  async run(model, real) {
    if (real.proof !== undefined) await sendProof(model, real, real.proof, !real.isProofStale)
  },
}

/** A page that lost its secret draws another one, which must not read the bond of the first. */
const confirmWithout = (what: 'session' | 'commitment' | 'key', times: number): Action => ({
  toString: () => `confirm ${times} times without the right ${what}`,
  async run(model, real) {
    for (let index = 0; index < times; index++) {
      const proof =
        what === 'key'
          ? newProof(real, stranger)
          : newProof(real, authenticator, what === 'session' ? h.shop.tenant.id : undefined)
      const commitment = newProof({ ...real, secret: newBrowserSecret() }).commitment
      await sendProof(model, real, what === 'commitment' ? { ...proof, commitment } : proof, false)
    }
  },
})

const intrude: Action = {
  toString: () => 'a stranger confirms',
  async run(_model, real) {
    const before = (await h.get(real.session)).body
    const proof = newProof(real, stranger)
    const noWatch = { 'x-bond-watch': `bwt_${'a'.repeat(43)}` }
    for (let index = 0; index < FAILURES; index++)
      isRejected(await prove(real, proof, noWatch), 'session_not_found')
    isRejected(await prove(real, proof, { origin: 'https://evil.example' }), 'origin_not_allowed')
    assert.deepEqual((await h.get(real.session)).body.seq, before.seq)
  },
}

const end = (by: 'phone' | 'backend' | 'page'): Action => ({
  toString: () => `ended by the ${by}`,
  async run(model, { session }) {
    if (model.phase === 'ended' || isNonceOld(model)) return
    if (by === 'phone') {
      const reply = await h.decline(phone, session, 'user_unexpected')
      if (model.phase === 'bonded') return isRejected(reply, 'session_not_live')
      assert.equal(reply.body.state, 'killed', reply.text)
    } else if (by === 'backend') assert.equal((await h.kill(session)).status, 204)
    else {
      const reply = await h.api('POST', `/sessions/${session.id}/cancel`, {
        token: h.shop.publishable,
        headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
        body: {},
      })
      assert.equal(reply.status < 400, true, reply.text)
      // A page ends only what is not bonded.
      if (model.phase === 'bonded') return
    }
    model.phase = 'ended'
  },
})

const wait = (seconds: number): Action => ({
  toString: () => `wait ${seconds} s`,
  run: async () => h.clock.advance(seconds * 1_000),
})

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 5, arbitrary: fc.constant(approve) },
  { weight: 2, arbitrary: fc.constant(approveAgain) },
  { weight: 3, arbitrary: fc.constant(confirm) },
  { weight: 2, arbitrary: fc.constant(confirmAgain) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.constantFrom<'session' | 'commitment' | 'key'>('session', 'commitment', 'key'),
        fc.constantFrom(1, FAILURES),
      )
      .map(([what, times]) => confirmWithout(what, times)),
  },
  { weight: 1, arbitrary: fc.constant(intrude) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<'phone' | 'backend' | 'page'>('phone', 'backend', 'page').map(end),
  },
  { weight: 3, arbitrary: fc.constantFrom(1, 119, 299, 300).map(wait) },
)

const STATES: Readonly<Record<Phase, readonly string[]>> = {
  claimed: ['pending'],
  approved: ['step_up_required'],
  recalled: ['step_up_required'],
  bonded: ['bonded'],
  ended: ['killed', 'expired'],
}

test(`in ${HISTORIES} random histories a session bonds by both proofs, and never by one`, async (t) => {
  let bonds = 0
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 2, maxLength: 10 }), async (actions) => {
      const session = await h.create({})
      await h.claim(phone, session)
      const createdAt = h.clock.now()
      const model: Model = {
        phase: 'claimed',
        createdAt,
        expiresAt: createdAt + SESSION_TTL_MS,
        evidenceUntil: 0,
        failures: 0,
        bondedBy: undefined,
      }
      const real: Real = {
        session,
        secret: newBrowserSecret(),
        approval: undefined,
        proof: undefined,
        isProofStale: true,
      }
      for (const step of actions) {
        passTime(model)
        await step.run(model, real)
        passTime(model)
        await isAsModelled(model, real)
        // A phone signs no two assertions in the same millisecond.
        h.clock.advance(1)
      }
      if (model.bondedBy !== undefined) bonds += 1
    }),
    { numRuns: HISTORIES, examples: [[[approve, confirm]]] },
  )
  t.diagnostic(`${bonds} of ${HISTORIES} bonded`)
  assert.ok(bonds > 0, 'the example bonds')
})

async function isAsModelled(model: Model, { session, secret }: Real): Promise<void> {
  const read = async (browserSecret?: string) =>
    (
      await h.api('GET', `/sessions/${session.id}`, {
        token: h.shop.server,
        ...(browserSecret !== undefined && {
          headers: { 'x-bond-browser-secret': browserSecret },
        }),
      })
    ).body
  const view = await read(secret)
  if (view.error !== undefined) return assert.equal(model.phase, 'ended')
  assert.ok(STATES[model.phase].includes(view.state), `${view.state}, not ${model.phase}`)
  assert.equal(view.verification !== null, model.phase === 'bonded')
  assert.equal((await read()).verification, null)
  assert.equal((await read(newBrowserSecret())).verification, null)
  if (view.step_up === null) return
  assert.deepEqual(view.step_up.required, [model.phase === 'approved' ? 'browser' : 'local_auth'])
  assert.equal(view.step_up.attempts_left, 3)
}
