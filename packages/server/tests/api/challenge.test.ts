import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { SessionId } from '@bonded/contract'
import { expireSessions } from '../../../core/src/operations/maintenance/expire-sessions.ts'
import { harness } from '../../../../tests/harness/harness.ts'

const h = await harness({
  workflows: [
    {
      name: 'w',
      actions: ['a'],
      challenge_ttl_seconds: 30,
      session_ttl_seconds: 120,
      bonded_ttl_seconds: 60,
    },
  ],
})
after(() => h[Symbol.asyncDispose]())
const current = async (session: { id: string }) => (await h.get(session)).body

test('rotates the nonce every challenge_ttl_seconds without a write, in half-open windows', async () => {
  const session = await h.create({})
  assert.equal(session.challenge_rotates_in_ms, 30_000)
  assert.equal(session.challenge_expires_in_ms, 60_000)
  h.clock.advance(29_999)
  assert.equal((await current(session)).nonce, session.nonce)
  h.clock.advance(1)
  const second = await current(session)
  assert.notEqual(second.nonce, session.nonce)
  assert.equal(second.seq, session.seq)
  assert.equal(second.challenge_rotates_in_ms, 30_000)
})

test('accepts a nonce for one more window after its display, then reports it as expired', async () => {
  const phone = await h.register()
  const session = await h.create({})
  h.clock.advance(59_999)
  assert.equal((await h.claim(phone, session)).status, 200)
  const late = await h.create({})
  h.clock.advance(60_000)
  assert.equal((await h.claim(phone, late)).body.error.reason, 'challenge_expired')
  assert.equal(
    (await h.claim(phone, { id: late.id, nonce: 'A'.repeat(43) })).body.error.reason,
    'nonce_mismatch',
  )
})

test('reports a future nonce as a mismatch, not as expired', async () => {
  const phone = await h.register()
  const session = await h.create({})
  h.clock.advance(30_000)
  const later = await current(session)
  const fresh = await h.create({})
  assert.equal(
    (await h.claim(phone, { id: fresh.id, nonce: later.nonce })).body.error.reason,
    'nonce_mismatch',
  )
  const own = h.service.keys.nonces('k1', fresh.id as SessionId).nonceAt(1)
  assert.equal(
    (await h.claim(phone, { id: fresh.id, nonce: own })).body.error.reason,
    'nonce_mismatch',
  )
})

test('reports any other shown nonce as expired to the phone that has claimed', async () => {
  const session = await h.create({})
  const phone = await h.register()
  const view = (await h.claim(phone, session)).body
  h.clock.advance(65_000)
  const before = h.service.keys.nonces('k1', session.id as SessionId).nonceAt(1)
  assert.equal(
    (await h.evidence(phone, { ...view, nonce: before })).body.error.reason,
    'challenge_expired',
  )
})

test('accepts only the claimed nonce from its phone, for 120 s from the claim', async () => {
  const session = await h.create({})
  const phone = await h.register()
  const view = (await h.claim(phone, session)).body
  h.clock.advance(100_000)
  assert.equal((await h.view(phone, session)).nonce, session.nonce)
  const newer = await current(session)
  assert.notEqual(newer.nonce, session.nonce)
  assert.equal(
    (await h.evidence(phone, { ...view, nonce: newer.nonce })).body.error.reason,
    'nonce_mismatch',
  )
  assert.equal((await h.attest(phone, view)).body.state, 'bonded')
})

test('a second claim with the same nonce changes nothing; a newer nonce restarts the 120 s', async () => {
  const session = await h.create({})
  const phone = await h.register()
  const first = (await h.claim(phone, session)).body
  const { seq } = await current(session)
  h.clock.advance(40_000)
  const again = (await h.claim(phone, session)).body
  assert.equal(again.challenge_expires_at, first.challenge_expires_at)
  const newer = await current(session)
  assert.equal(newer.seq, seq)
  const moved = (await h.claim(phone, newer)).body
  assert.equal(moved.nonce, newer.nonce)
  assert.equal((await h.claim(phone, session)).body.error.reason, 'challenge_expired')
  assert.equal((await h.attest(phone, moved)).body.state, 'bonded')
})

test('the claimed nonce expires after 120 s', async () => {
  await using long = await harness({
    workflows: [{ name: 'w', actions: ['a'], challenge_ttl_seconds: 30, session_ttl_seconds: 600 }],
  })
  const session = await long.create({})
  const phone = await long.register()
  const view = (await long.claim(phone, session)).body
  long.clock.advance(119_999)
  assert.equal((await long.evidence(phone, view)).status, 200)
  long.clock.advance(1)
  assert.equal((await long.evidence(phone, view)).body.error.reason, 'challenge_expired')
})

test('keeps the nonce at the last one shown outside pending', async () => {
  const { session } = await h.reach('bonded', {})
  const frozen = await current(session)
  h.clock.advance(45_000)
  const later = await current(session)
  assert.deepEqual(
    [later.nonce, later.qr_payload, later.challenge_expires_at],
    [frozen.nonce, frozen.qr_payload, frozen.challenge_expires_at],
  )
  assert.deepEqual([later.challenge_rotates_in_ms, later.challenge_expires_in_ms], [0, 0])
  assert.ok(later.expires_in_ms > 0)
})

test('shows the last nonce of an expired session, before and after the sweep', async () => {
  const session = await h.create({})
  h.clock.advance(119_999)
  const last = await current(session)
  h.clock.advance(1)
  const unswept = await current(session)
  await expireSessions(h.service)
  const swept = await current(session)
  assert.deepEqual(
    [unswept.state, unswept.nonce, swept.state, swept.nonce],
    ['expired', last.nonce, 'expired', last.nonce],
  )
})

test('returns the end of acceptance of the nonce that the phone scanned', async () => {
  const session = await h.create({})
  const phone = await h.register()
  h.clock.advance(31_000)
  const view = await h.view(phone, session)
  assert.deepEqual([view.nonce, view.challenge_expires_in_ms], [session.nonce, 29_000])
  h.clock.advance(28_999)
  assert.equal((await h.claim(phone, session)).status, 200)
})

test('shows the claimed nonce to the phone that claimed it, whichever nonce it sends', async () => {
  const session = await h.create({})
  const phone = await h.register()
  await h.claim(phone, session)
  h.clock.advance(31_000)
  const requested = await h.view(phone, await current(session))
  assert.deepEqual([requested.nonce, requested.challenge_expires_in_ms], [session.nonce, 89_000])
  assert.equal((await h.attest(phone, requested)).body.state, 'bonded')
})

test('expires a session at the instant of expires_at, and stops returning it an hour after its end', async () => {
  const session = await h.create({})
  h.clock.advance(119_999)
  assert.equal((await current(session)).state, 'pending')
  h.clock.advance(1)
  const expired = await current(session)
  assert.deepEqual(
    [expired.state, expired.expires_in_ms, expired.verification, expired.hint],
    ['expired', 0, null, null],
  )
  h.clock.advance(60 * 60_000 - 1)
  assert.equal((await current(session)).state, 'expired')
  h.clock.advance(1)
  assert.equal((await h.get(session)).status, 404)
})

test('never shows the phone a nonce newer than the one it presented', async () => {
  const session = await h.create({})
  const phone = await h.register()
  h.clock.advance(35_000)
  assert.equal((await h.view(phone, session)).nonce, session.nonce)
  const query = (nonce: string) =>
    h.api('GET', `/sessions/${session.id}?nonce=${nonce}`, { token: phone.device_token })
  h.clock.advance(30_000)
  assert.equal((await query(session.nonce)).status, 404)
  assert.equal((await query('')).status, 404)
})

test('serves the QR code only for an accepted nonce of a pending session', async () => {
  const session = await h.create({})
  const image = await h.call('GET', session.qr_svg_url)
  assert.equal(image.status, 200)
  assert.match(String(image.headers['content-type']), /^image\/svg\+xml/)
  assert.match(image.text, /<title>/)
  const path = `/v1/sessions/${session.id}/qr.svg`
  for (const bad of [
    path,
    `${path}?nonce=`,
    `${path}?nonce=${'A'.repeat(43)}`,
    `${path}?nonce=a&nonce=b`,
    `/v1/sessions/nothing/qr.svg?nonce=${session.nonce}`,
  ]) {
    assert.equal((await h.call('GET', bad)).status, 404, bad)
  }
  h.clock.advance(60_000)
  assert.equal((await h.call('GET', session.qr_svg_url)).status, 404)
  const ended = await h.reach('killed', {})
  assert.equal((await h.call('GET', ended.session.qr_svg_url)).status, 404)
})
