import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GateError, VERDICT_TTL_MS } from '../src/index.ts'
import { harness, OWNER } from './harness.ts'

type Harness = ReturnType<typeof harness>

const isInvalidVerdict = (error: unknown) =>
  error instanceof GateError && error.code === 'verdict_invalid'
const mustNotRun = async () => assert.fail('the action ran')

/** Every transaction of the store waits longer than a verdict lives. */
function outliveVerdicts({ store, clock }: Harness): void {
  const transaction = store.transaction.bind(store)
  store.transaction = (work) => {
    clock.advance(VERDICT_TTL_MS)
    return transaction(work)
  }
}

async function accepted(h: Harness) {
  const submit = await h.bonded()
  const verdict = await h.gate.verify(submit)
  assert.ok(verdict.decision === 'accept')
  return { submit, verdict }
}

test('use rejects a plain object that has every member of a verdict', async () => {
  const h = harness()
  const { verdict } = await accepted(h)
  const forged: [string, object][] = [
    ['a copy', { ...verdict }],
    ['a clone', structuredClone(verdict)],
    ['an heir', Object.create(verdict) as object],
    ['a proxy', new Proxy(verdict, {})],
    ['a verdict over a session that was never verified', { ...verdict, session_id: 'sess_x' }],
  ]
  for (const [what, forgery] of forged)
    await assert.rejects(h.gate.use(forgery as never, mustNotRun), isInvalidVerdict, what)
})

test('use rejects a value that is not an object', async () => {
  const h = harness()
  for (const forgery of [undefined, null, 'accept', true])
    await assert.rejects(h.gate.use(forgery as never, mustNotRun), isInvalidVerdict)
})

test('use rejects a reject verdict', async () => {
  const h = harness()
  const verdict = await h.gate.verify({ ...(await h.bonded()), owner: 'login-2' })
  assert.equal(verdict.decision, 'reject')
  await assert.rejects(h.gate.use(verdict as never, mustNotRun), isInvalidVerdict)
})

test('use rejects a verdict of another gate, whose policy may be weaker', async () => {
  const lax = harness()
  const strict = harness()
  const { verdict } = await accepted(lax)
  await assert.rejects(strict.gate.use(verdict, mustNotRun), isInvalidVerdict)
})

test('a verdict cannot be changed to name another session or owner', async () => {
  const { verdict } = await accepted(harness())
  assert.throws(() => Object.assign(verdict, { session_id: 'sess_x' }), TypeError)
  assert.throws(() => Object.assign(verdict, { owner: 'login-2' }), TypeError)
})

test('no member of a verdict can be changed, at any depth', async () => {
  const h = harness()
  const { verdict } = await accepted(h)
  const submit = await h.bonded()
  h.service.bond(submit.session_id, { human_presence_confidence: 0.1 })
  const review = await h.gate.verify(submit)
  assert.equal(review.decision, 'review')
  const rejection = await h.gate.verify({ ...submit, owner: 'login-2' })
  const mutable: string[] = []
  const search = (value: unknown, path: string) => {
    if (typeof value !== 'object' || value === null) return
    if (!Object.isFrozen(value)) mutable.push(path)
    for (const [name, member] of Object.entries(value)) search(member, `${path}.${name}`)
  }
  search({ accept: verdict, review, rejection }, '')
  assert.deepEqual(mutable, [''])
  assert.throws(
    () => Object.assign(verdict.verification.carrier, { sim_swap_recent: true }),
    TypeError,
  )
})

test('a verdict works until its lifetime ends and not at its end', async () => {
  for (const [elapsedMs, used] of [
    [VERDICT_TTL_MS - 1, true],
    [VERDICT_TTL_MS, false],
  ] as const) {
    const h = harness()
    const { verdict } = await accepted(h)
    h.clock.advance(elapsedMs)
    const outcome = await h.gate.use(verdict, async () => 'A-1')
    assert.deepEqual(outcome, used ? { used, result: 'A-1' } : { used, reason: 'verdict_expired' })
  }
})

test('a verdict ends with its session, by the time of the service', async () => {
  for (const serviceAheadMs of [-3_600_000, 0, 3_600_000]) {
    const h = harness({ serviceAheadMs })
    const submit = await h.bonded()
    h.clock.advance(300_000 - 5_000)
    const verdict = await h.gate.verify(submit)
    assert.ok(verdict.decision === 'accept')
    h.clock.advance(5_000)
    assert.deepEqual(await h.gate.use(verdict, mustNotRun), {
      used: false,
      reason: 'verdict_expired',
    })
  }
})

test('a verdict that expires while its transaction waits is not used', async () => {
  const h = harness()
  outliveVerdicts(h)
  const { submit, verdict } = await accepted(h)
  assert.deepEqual(await h.gate.use(verdict, mustNotRun), {
    used: false,
    reason: 'verdict_expired',
  })
  assert.equal((await h.store.find(submit.session_id))?.used_at, null)
})

test('protect rejects with session_expired when its verdict expired before the action', async () => {
  const h = harness()
  outliveVerdicts(h)
  const outcome = await h.gate.protect({ ...(await h.bonded()), accept: mustNotRun })
  assert.ok(outcome.outcome === 'rejected')
  assert.deepEqual(outcome.reasons, ['session_expired'])
})

test('a verdict is used once, and names the owner and session that were verified', async () => {
  const h = harness()
  const { submit, verdict } = await accepted(h)
  assert.deepEqual([verdict.session_id, verdict.owner], [submit.session_id, OWNER])
  assert.deepEqual(await h.gate.use(verdict, async () => 'A-1'), { used: true, result: 'A-1' })
  assert.deepEqual(await h.gate.use(verdict, mustNotRun), { used: false, reason: 'already_used' })
})
