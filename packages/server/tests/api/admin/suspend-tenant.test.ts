import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import {
  resumeTenant,
  suspendTenant,
} from '../../../../core/src/operations/admin/suspend-tenant.ts'
import { harness, SHOP_ORIGIN } from '../../../../../tests/harness/harness.ts'
import { attestation } from '../../../../../tests/harness/phone.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())
afterEach(async () => {
  await suspend()
  await resumeTenant(h.service, h.shop.tenant.id)
})

const suspend = () => suspendTenant(h.service, h.shop.tenant.id)
/** Suspends the tenant as it is before its sessions are ended. */
const mark = () =>
  h.service.store.write((tables) => tables.tenants.setSuspended(h.shop.tenant.id, h.clock.now()))
const reasonOf = (reply: { status: number; body: { error?: { reason?: string } } }) => [
  reply.status,
  reply.body.error?.reason,
]
const SUSPENDED = [403, 'tenant_suspended']

test('a suspended tenant creates no session, and any other one does', async () => {
  const other = await h.addTenant({ name: 'Other' })
  await suspend()
  const create = () => h.api('POST', '/sessions', { token: h.shop.server, body: {} })
  const refused = await create()
  assert.deepEqual(reasonOf(refused), SUSPENDED)
  assert.equal(refused.body.error.code, 'forbidden')
  await h.create({ workflow: 'credit_application' }, other)
  await resumeTenant(h.service, h.shop.tenant.id)
  await h.create()
})

test('a suspension ends what is pending or waits for a step-up, and everybody reads why', async () => {
  for (const state of ['pending', 'step_up_required'] as const) {
    const { session, phone } = await h.reach(state)
    if (state === 'pending') await h.claim(phone, session)
    const { ended, changed } = await suspend()
    assert.deepEqual([ended, changed], [1, true])
    const { body } = await h.get(session)
    assert.deepEqual([body.state, body.ended_reason], ['killed', 'tenant_suspended'])
    assert.equal((await h.view(phone, session)).ended_reason, 'suspended')
    const page = await h.api('GET', `/sessions/${session.id}`, {
      token: h.shop.publishable,
      headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
    })
    assert.deepEqual([page.body.state, page.body.ended_reason], ['killed', 'suspended'])
    await resumeTenant(h.service, h.shop.tenant.id)
    assert.equal((await h.get(session)).body.state, 'killed')
  }
})

test('what is bonded completes, and sessions of other tenants go on', async () => {
  const { session } = await h.reach('bonded')
  const other = await h.addTenant({ name: 'Next' })
  const theirs = await h.create({ workflow: 'credit_application' }, other)
  const { ended } = await suspend()
  assert.equal(ended, 0)
  assert.equal((await h.complete(session)).status, 200)
  assert.equal((await h.get(session)).body.state, 'completed')
  assert.equal((await h.get(theirs, other)).body.state, 'pending')
})

for (const when of ['has ended it', 'has not ended it yet'] as const)
  test(`a session gets no approval where the suspension ${when}`, async () => {
    const phone = await h.register()
    const [unclaimed, session] = [await h.create(), await h.create()]
    await h.claim(phone, session)
    const seen = await h.view(phone, session)
    const evidence = (await h.evidence(phone, seen)).body.verified_evidence
    await (when === 'has ended it' ? suspend() : mark())
    assert.deepEqual(reasonOf(await h.claim(phone, unclaimed)), SUSPENDED)
    assert.deepEqual(reasonOf(await h.claim(phone, session)), SUSPENDED)
    assert.deepEqual(reasonOf(await h.evidence(phone, seen)), SUSPENDED)
    const now = new Date(h.clock.now()).toISOString()
    const attested = await h.api('POST', '/attestations', {
      token: phone.device_token,
      body: attestation(phone, seen, evidence, now),
    })
    assert.deepEqual(reasonOf(attested), SUSPENDED)
  })

test('a phone without the latest code learns nothing of the suspension', async () => {
  const phone = await h.register()
  const [ended, open] = [await h.create(), await h.create()]
  const old = { ...open, nonce: open.nonce }
  h.clock.advance(120_000)
  const { nonce } = (await h.get(open)).body
  const strange = { ...open, nonce: 'x'.repeat(nonce.length) }
  await mark()
  assert.equal((await h.claim(phone, strange)).body.error.reason, 'nonce_mismatch')
  assert.equal((await h.claim(phone, old)).body.error.reason, 'challenge_expired')
  assert.deepEqual(reasonOf(await h.claim(phone, { ...open, nonce })), SUSPENDED)
  await suspend()
  for (const wrong of [strange, old, { ...ended, nonce }])
    assert.equal((await h.claim(phone, wrong)).body.error.reason, 'session_not_live')
})

test('a user declines what a suspended tenant asked for', async () => {
  const phone = await h.register()
  const session = await h.create()
  await h.claim(phone, session)
  await mark()
  assert.equal((await h.decline(phone, session, 'user_unexpected')).status, 200)
  assert.equal((await h.get(session)).body.ended_reason, 'user_unexpected')
})

test('a second suspension ends what an interrupted one has left', async () => {
  const sessions = []
  for (let i = 0; i < 60; i++) sessions.push(await h.create())
  await mark()
  const { ended, changed, tenant } = await suspend()
  assert.deepEqual([ended, changed], [60, false])
  assert.equal(typeof tenant.suspendedAt, 'number')
  for (const session of sessions) assert.equal((await h.get(session)).body.state, 'killed')
})

test('each of 200 running sessions ends or completes, whatever its phone does meanwhile', async () => {
  const states = ['pending', 'pending', 'step_up_required', 'bonded'] as const
  const running = []
  for (let i = 0; i < 200; i++) {
    const state = states[i % states.length] ?? 'pending'
    const reached = await h.reach(state)
    if (i % states.length === 1) await h.claim(reached.phone, reached.session)
    running.push({ state, ...reached })
  }
  const acting = running.map(async ({ state, session, phone }, i) => {
    if (state === 'bonded') return h.complete(session)
    return i % 2 === 0 ? h.claim(phone, session) : h.attest(phone, await h.view(phone, session))
  })
  await Promise.all([suspend(), ...acting])
  const ends = new Map<string, number>()
  for (const { state, session } of running) {
    const { body } = await h.get(session)
    // An approval that came before the suspension bonds, and what is bonded completes.
    if (body.state === 'bonded') {
      assert.notEqual(state, 'bonded')
      assert.equal((await h.complete(session)).status, 200)
    }
    const end = `${state} ${body.state === 'killed' ? body.ended_reason : 'completed'}`
    ends.set(end, (ends.get(end) ?? 0) + 1)
  }
  const sum = [...ends.values()].reduce((a, b) => a + b, 0)
  assert.equal(sum, 200)
  const allowed = states.flatMap((state) => [`${state} completed`, `${state} tenant_suspended`])
  assert.deepEqual(
    [...ends.keys()].filter((end) => !allowed.includes(end)),
    [],
  )
  assert.equal(ends.get('bonded completed'), 50)
})

test('an unknown tenant is neither suspended nor resumed', async () => {
  const unknown = `ten_${'x'.repeat(22)}` as never
  await assert.rejects(suspendTenant(h.service, unknown), /No tenant/)
  await assert.rejects(resumeTenant(h.service, unknown), /No tenant/)
})
