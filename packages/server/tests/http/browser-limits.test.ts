import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { parseTrustedProxies } from '../../src/http/connection/client-address.ts'
import { BROWSER_PROOF } from '../../../../tests/harness/browser-proof.ts'
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

test('accepts 30 proofs of a browser a minute and network, and rejects the rest before it reads them', async () => {
  await using h = await limited({ trustedProxies: parseTrustedProxies('1') ?? 0 })
  const session = await h.create()
  const [one, other] = ['192.0.2.1', '198.51.100.1']
  assert.equal(await countUnlimited(40, () => send(h, session, BROWSER_PROOF, one)), 30)
  // Its body has the wrong form, so a service that had read it would answer 400.
  assertLimited(await send(h, session, { junk: true }, one), 'browser', 2)
  assert.equal((await send(h, session, BROWSER_PROOF, other)).status, 400)
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
