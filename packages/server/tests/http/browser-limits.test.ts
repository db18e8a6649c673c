import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { parseTrustedProxies } from '../../src/http/connection/client-address.ts'
import {
  BROWSER_PROOF,
  browserProof,
  newBrowserSecret,
  newPasskey,
} from '../../../../tests/harness/browser-proof.ts'
import { type Harness, PUBLIC_ORIGIN, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'
import { assertLimited, countUnlimited, limited } from './counted-calls.ts'

const send = (h: Harness, session: CreatedSession, body: unknown = BROWSER_PROOF, address = '') =>
  h.api('POST', `/sessions/${session.id}/browser`, {
    token: h.shop.publishable,
    headers: {
      origin: SHOP_ORIGIN,
      'x-bond-watch': session.watch_token,
      ...(address !== '' && { 'x-forwarded-for': address }),
    },
    body,
  })

test('accepts 30 proofs of a session a minute, and rejects the rest before it reads them', async () => {
  await using h = await limited()
  const [session, other] = [await h.create(), await h.create()]
  assert.equal(await countUnlimited(40, () => send(h, session)), 30)
  // Its body has the wrong form, so a service that had read it would answer 400.
  assertLimited(await send(h, session, { junk: true }), 'browser', 2)
  assert.equal((await send(h, other)).status, 400)
})

test('counts proofs without the watch token of their session for the network', async () => {
  await using h = await limited({ trustedProxies: parseTrustedProxies('1') ?? 0 })
  const [session, another] = [await h.create(), await h.create()]
  const foreign = (address: string) =>
    send(h, { ...session, watch_token: another.watch_token }, BROWSER_PROOF, address)
  const [one, other] = ['192.0.2.1', '198.51.100.1']
  assert.equal(await countUnlimited(40, () => foreign(one)), 30)
  assertLimited(await foreign(one), 'browser', 2)
  assert.equal((await foreign(other)).status, 404)
  assert.equal((await send(h, session, BROWSER_PROOF, one)).status, 400)
})

test('lets 24 users behind one address confirm within a minute beside a stranger', async () => {
  await using h = await limited({
    workflows: [{ name: 'bound', actions: ['act'], require: ['browser'] }],
  })
  const known = await h.create({})
  const invented = (path: string, method: string, body?: object) =>
    h.api(method, `/sessions/${known.id}${path}`, {
      token: h.shop.publishable,
      headers: {
        origin: path === '/browser/frame' ? PUBLIC_ORIGIN : SHOP_ORIGIN,
        'x-bond-watch': `bwt_${newBrowserSecret()}`,
      },
      ...(body && { body }),
    })
  const read = () => invented('', 'GET')
  const prove = () => invented('/browser', 'POST', BROWSER_PROOF)
  const open = () => invented('/browser/frame', 'POST', { parent_origin: SHOP_ORIGIN })
  const calls = [prove, open, read, read]
  const disturb = async () => {
    for (let index = 0; index < 25; index++) await calls[index % calls.length]?.()
  }
  assert.equal(await countUnlimited(310, read), 300)
  for (let user = 0; user < 24; user++) {
    const { authenticator, key } = newPasskey(PUBLIC_ORIGIN)
    const phone = await h.register(undefined, key)
    const session = await h.create({})
    assert.equal((await h.claim(phone, session)).status, 200)
    const { body } = await h.attest(phone, await h.view(phone, session))
    assert.equal(body.state, 'step_up_required')
    await disturb()
    const proof = browserProof(authenticator, {
      sessionId: session.id,
      tenantId: h.shop.tenant.id,
      workflow: 'bound',
      action: 'act',
      origin: SHOP_ORIGIN,
      secret: newBrowserSecret(),
    })
    assert.equal((await send(h, session, proof)).body.state, 'bonded', `user ${user}`)
    h.clock.advance(2_500)
  }
})

test('verifies no proof for a session that no phone has approved', async (t) => {
  await using h = await limited()
  const verify = t.mock.method(h.service.assertionVerifiers.webauthn, 'verify')
  const session = await h.create()
  const before = (await h.get(session)).body
  const rejected = await send(h, session)
  assert.deepEqual([rejected.status, rejected.body.error.reason], [400, 'session_not_live'])
  assert.equal(verify.mock.callCount(), 0)
  assert.deepEqual((await h.get(session)).body.seq, before.seq)
})

test('counts the frame’s reads with the proofs', async () => {
  await using h = await limited()
  const session = await h.create()
  const open = (body: object) =>
    h.api('POST', `/sessions/${session.id}/browser/frame`, {
      token: h.shop.publishable,
      headers: { origin: PUBLIC_ORIGIN, 'x-bond-watch': session.watch_token },
      body,
    })
  assert.equal(await countUnlimited(40, () => open({ parent_origin: SHOP_ORIGIN })), 30)
  assertLimited(await open({ junk: true }), 'browser', 2)
  assertLimited(await send(h, session), 'browser', 2)
})
