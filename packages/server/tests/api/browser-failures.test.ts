import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import {
  browserProof,
  newBrowserSecret,
  newPasskey,
} from '../../../../tests/harness/browser-proof.ts'
import { harness, PUBLIC_ORIGIN, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'
import { attestation } from '../../../../tests/harness/phone.ts'
import { moveDevice } from '../../../core/src/operations/admin/devices.ts'

/* What a failed or an early proof of the browser (protocol 14) does to the phone. */

async function setUp() {
  const h = await harness({
    workflows: [{ name: 'bound', actions: ['act'], require: ['browser'] }],
  })
  const { authenticator, key } = newPasskey(PUBLIC_ORIGIN)
  const phone = await h.register(undefined, key)
  const prove = (session: CreatedSession) => {
    const body = browserProof(authenticator, {
      sessionId: session.id,
      tenantId: h.shop.tenant.id,
      workflow: 'bound',
      action: 'act',
      origin: SHOP_ORIGIN,
      secret: newBrowserSecret(),
    })
    return h.api('POST', `/sessions/${session.id}/browser`, {
      token: h.shop.publishable,
      headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
      body,
    })
  }
  const claimed = async (session: CreatedSession) => {
    await h.claim(phone, session)
    return h.view(phone, session)
  }
  return { h, phone, prove, claimed, [Symbol.asyncDispose]: () => h[Symbol.asyncDispose]() }
}

test('counts the proofs for a phone that is no longer usable', async () => {
  await using s = await setUp()
  const { h, phone, prove, claimed } = s
  const session = await h.create({})
  await h.attest(phone, await claimed(session))
  await moveDevice(h.service, phone.device_id as never, 'block')
  for (let index = 0; index < 8; index++)
    assert.equal((await prove(session)).body.error.reason, 'browser_proof_invalid')
  assert.equal((await prove(session)).body.error.reason, 'session_not_live')
  const { state, step_up } = (await h.get(session)).body
  assert.deepEqual([state, step_up.required], ['step_up_required', ['local_auth']])
})

test('an assertion that was signed before the proof and arrives after it makes no phone suspect', async () => {
  await using s = await setUp()
  const { h, phone, prove, claimed } = s
  const [first, second] = [await h.create({}), await h.create({})]
  await h.attest(phone, await claimed(first))
  h.clock.advance(1_000)
  const view = await claimed(second)
  const { verified_evidence } = (await h.evidence(phone, view)).body
  const late = attestation(phone, view, verified_evidence, h.now())
  h.clock.advance(1_000)
  assert.equal((await prove(first)).body.state, 'bonded')
  const rejected = await h.api('POST', '/attestations', { token: phone.device_token, body: late })
  assert.equal(rejected.body.error.reason, 'assertion_invalid')
  const approved = await h.attest(phone, view)
  assert.equal(approved.body.state, 'step_up_required', approved.text)
  assert.equal((await prove(second)).body.state, 'bonded')
})
