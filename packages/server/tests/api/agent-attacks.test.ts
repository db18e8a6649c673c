import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PRESETS } from '@bonded/contract'
import { webauthnKey, withProductionRoots } from '../../../../tests/harness/attested-phones.ts'
import { HOUR, inboxHarness, reasonOf } from '../../../../tests/harness/inbox.ts'
import type { TestPhone } from '../../../../tests/harness/phone.ts'

const WEEK = 7 * 24 * HOUR
const REQUESTER = { kind: 'agent', name: 'Invoice agent' }
const ACCEPTED = { 'x-bond-outcome': 'accepted' }

/** A production tenant with the preset, whose user has bonded once on a page. */
const agentScene = async (key = webauthnKey('unattested')) => {
  const scene = await inboxHarness({
    key,
    attestation: withProductionRoots,
    environment: 'production',
    workflows: [
      { name: 'page', actions: ['act'] },
      { name: 'pay', actions: ['act'], ...PRESETS.agent },
    ],
  })
  const request = {
    workflow: 'pay',
    context: { requester: REQUESTER, display: [{ label: 'Invoice', value: '7' }] },
  }
  return {
    ...scene,
    request,
    create: () => scene.tryCreate(request),
    completeFirst: () => scene.h.complete(scene.firstBond, ACCEPTED),
    /** The requests that the phone sees. */
    listed: async (phone: TestPhone) => (await scene.open(phone)).body.items as unknown[],
  }
}

test('a passkey of a week with a completed bond approves', async () => {
  await using scene = await agentScene()
  const { h, phone, request } = scene
  await scene.completeFirst()
  h.clock.advance(WEEK)
  const { session, listed } = await scene.ask(request)
  await h.claim(phone, listed)
  assert.equal((await h.attest(phone, await h.view(phone, listed))).status, 200)
  assert.equal((await h.get(session)).body.state, 'bonded')
})

test('a passkey serves no request before it is a week old, or without a completed bond', async () => {
  await using scene = await agentScene()
  const { h } = scene
  h.clock.advance(WEEK)
  assert.equal(reasonOf(await scene.create()), 'subject_has_no_phone')
  await using other = await agentScene()
  await other.completeFirst()
  other.h.clock.advance(WEEK - 2)
  assert.equal(reasonOf(await other.create()), 'subject_has_no_phone')
  other.h.clock.advance(1)
  assert.equal((await other.create()).status, 201)
})

test('an attested key needs neither a week nor a completed bond', async () => {
  await using scene = await agentScene(webauthnKey('attested'))
  assert.equal((await scene.create()).status, 201)
  assert.equal((await scene.listed(scene.phone)).length, 1)
})

test('a passkey that an agent adds to the user approves nothing after the 72 hours either', async () => {
  await using scene = await agentScene()
  const { h, phone, request } = scene
  await scene.completeFirst()
  const agent = await h.register(phone, webauthnKey('script'))
  h.clock.advance(WEEK)
  const { session, listed } = await scene.ask(request)
  assert.deepEqual(await scene.listed(agent), [])
  const { keys, clock } = h.service
  const nonces = keys.inboxNonces(keys.currentKeyId, session.id, agent.device_id as never)
  const index = Math.floor((clock.now() - Date.parse(session.server_time)) / 120_000)
  const stolen = { ...session, nonce: nonces.nonceAt(index) }
  assert.equal(reasonOf(await h.claim(agent, stolen)), 'key_not_attested')
  assert.equal(reasonOf(await h.decline(agent, stolen)), 'key_not_attested')
  assert.equal((await h.claim(phone, listed)).status, 200)
})

test('a phone that an agent registers for itself sees no request of the user', async () => {
  await using scene = await agentScene()
  const { h, request } = scene
  await scene.completeFirst()
  const agent = await h.register(undefined, webauthnKey('script'))
  h.clock.advance(WEEK)
  const { listed } = await scene.ask(request)
  assert.deepEqual(await scene.listed(agent), [])
  assert.equal(reasonOf(await h.claim(agent, listed)), 'nonce_mismatch')
})

test('an agent that made the first bond approves as the user, which no rule stops', async () => {
  await using scene = await agentScene(webauthnKey('script'))
  const { h, phone, request } = scene
  await scene.completeFirst()
  h.clock.advance(WEEK)
  const { listed } = await scene.ask(request)
  await h.claim(phone, listed)
  assert.equal((await h.attest(phone, await h.view(phone, listed))).status, 200)
})

test('an agent with a synced passkey neither lists nor approves without the user’s verification', async () => {
  await using scene = await agentScene(webauthnKey('script'))
  const { h, phone, request } = scene
  await scene.completeFirst()
  h.clock.advance(WEEK)
  const { listed } = await scene.ask(request)
  const silent = { tampering: { flags: 0x09 } }
  assert.equal(reasonOf(await scene.open(phone, silent.tampering)), 'assertion_invalid')
  await h.claim(phone, listed)
  const view = await h.view(phone, listed)
  assert.equal(reasonOf(await h.attest(phone, view, silent)), 'assertion_invalid')
})

test('a request without a requester is rejected', async () => {
  await using scene = await agentScene()
  const { status, body } = await scene.tryCreate({ workflow: 'pay' })
  assert.deepEqual(
    [status, body.error.reason, body.error.param],
    [400, 'requester_required', 'context.requester'],
  )
})
