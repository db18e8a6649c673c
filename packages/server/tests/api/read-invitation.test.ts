import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Workflow } from '@bonded/contract'
import { USUAL_LIMITS } from '../../../core/src/domain/limits.ts'
import { purgeSessions } from '../../../core/src/operations/maintenance/purge-sessions.ts'
import { harness, PUBLIC_ORIGIN, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'

const WORKFLOW = { name: 'wire', actions: ['approve'] } satisfies Workflow
const h = await harness({
  workflows: [
    { ...WORKFLOW, name: 'any', webauthn: 'any' },
    { ...WORKFLOW, name: 'attested', webauthn: 'attested' },
    { ...WORKFLOW, name: 'known', webauthn: 'known' },
    { ...WORKFLOW, name: 'apps', formats: ['apple-app-attest', 'android-key'] },
  ],
})
after(() => h[Symbol.asyncDispose]())

const create = (workflow = 'any', more: object = {}) => h.create({ workflow, ...more })
const invitation = (id: string, nonce?: string, headers: Record<string, string> = {}) =>
  h.api('GET', `/sessions/${id}/invitation`, {
    headers: { ...(nonce === undefined ? {} : { 'x-bond-nonce': nonce }), ...headers },
  })

test('names the tenant, the page and the key that a phone without a key needs', async () => {
  const session = await create()
  const before = await invitation(session.id, session.nonce)
  assert.deepEqual(
    [before.status, before.body],
    [
      200,
      {
        state: 'pending',
        ended_reason: null,
        tenant_name: 'Shop',
        tenant_logo_url: null,
        requesting_origin: null,
        registration: {
          rp_id: new URL(PUBLIC_ORIGIN).hostname,
          attestation: 'none',
          formats: ['apple-app-attest', 'android-key', 'webauthn', 'software'],
          browser_key: 'none',
          names_user: false,
        },
      },
    ],
  )
  await h.api('GET', `/sessions/${session.id}`, {
    token: h.shop.publishable,
    headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
  })
  const read = await invitation(session.id, session.nonce, { origin: PUBLIC_ORIGIN })
  assert.equal(read.body.requesting_origin, SHOP_ORIGIN)
})

test('requires an attestation exactly where the workflow rejects a new key without one', async () => {
  const asked = async (workflow: string, more: object = {}) => {
    const session = await create(workflow, more)
    return (await invitation(session.id, session.nonce)).body.registration.attestation
  }
  assert.equal(await asked('any'), 'none')
  assert.equal(await asked('attested'), 'required')
  assert.equal(await asked('known'), 'required')
  assert.equal(await asked('known', { subject_ref: 'A'.repeat(43) }), 'none')
})

test('names the accepted formats, and whether the session names its user', async () => {
  const asked = async (workflow: string, more: object = {}) => {
    const session = await create(workflow, more)
    const { formats, names_user } = (await invitation(session.id, session.nonce)).body.registration
    return [formats, names_user]
  }
  const apps = ['apple-app-attest', 'android-key']
  assert.deepEqual(await asked('apps'), [apps, false])
  const [, namesUser] = await asked('any', { subject_ref: 'A'.repeat(43) })
  assert.equal(namesUser, true)
  // A phone that did not ask learns it from the rejection.
  const { status, body } = await h.claim(await h.register(), await create('apps'))
  assert.deepEqual([status, body.error.reason], [400, 'key_format_not_accepted'])
  assert.match(body.error.message, /It accepts apple-app-attest, android-key\.$/)
})

test('accepts the nonces that a phone may claim with, and no other', async () => {
  const session = await create()
  const statusOf = async (nonce?: string) => (await invitation(session.id, nonce)).status
  h.clock.advance(session.challenge_rotates_in_ms)
  const second = (await h.get(session)).body.nonce
  assert.notEqual(second, session.nonce)
  assert.deepEqual([await statusOf(session.nonce), await statusOf(second)], [200, 200])
  h.clock.advance(session.challenge_rotates_in_ms)
  assert.deepEqual([await statusOf(session.nonce), await statusOf(second)], [404, 200])
  const another = (await create()).nonce
  for (const wrong of [undefined, '', 'x', another, second.slice(1)])
    assert.equal(await statusOf(wrong), 404, String(wrong))
})

test('shows a phone that comes too late how the session ended, for its last nonces only', async () => {
  const session = await create()
  h.clock.advance(2 * session.challenge_rotates_in_ms)
  const last = (await h.get(session)).body.nonce
  await h.kill(session)
  assert.equal((await invitation(session.id, last)).body.state, 'killed')
  assert.equal((await invitation(session.id, session.nonce)).status, 404)
  h.clock.advance(61 * 60_000)
  assert.equal((await invitation(session.id, last)).status, 404)

  const left = await create()
  h.clock.advance(left.expires_in_ms - 1)
  const newest = (await h.get(left)).body.nonce
  h.clock.advance(1)
  assert.equal((await invitation(left.id, newest)).body.state, 'expired')
})

test('responds identically to every session that it does not show', async () => {
  const live = await create()
  const ended = await create()
  await h.kill(ended)
  const { nonce } = ended
  h.clock.advance(25 * 3_600_000)
  while ((await purgeSessions(h.service)).more);
  const foreign = await create()
  const replies = await Promise.all([
    invitation(live.id, foreign.nonce),
    invitation(live.id),
    invitation(ended.id, nonce),
    invitation(`sess_${'0'.repeat(22)}`, foreign.nonce),
    invitation('sess_1', foreign.nonce),
  ])
  const [first, ...others] = replies.map(({ status, headers, text }) => {
    const { date: _, 'x-request-id': id, ...rest } = headers
    return { status, headers: rest, text: text.replaceAll(String(id), '') }
  })
  assert.equal(first?.status, 404)
  for (const other of others) assert.deepEqual(other, first)
})

test('reveals no context, no nonce and no token', async () => {
  const context = { display: [{ label: 'Amount', value: '€ 12,500.00' }] }
  const session = await create('any', { context })
  const { text } = await invitation(session.id, session.nonce)
  for (const secret of ['12,500', 'nonce', session.nonce, session.watch_token, session.id])
    assert.ok(!text.includes(secret), secret)
})

test('changes nothing of the session', async () => {
  const session = await create()
  const before = (await h.get(session)).body
  await invitation(session.id, session.nonce)
  const { seq, state, hint } = (await h.get(session)).body
  assert.deepEqual([seq, state, hint], [before.seq, before.state, before.hint])
})

test('is closed to the pages of tenants, for requests and for preflights', async () => {
  const session = await create()
  const asked = await invitation(session.id, session.nonce, { origin: SHOP_ORIGIN })
  assert.deepEqual([asked.status, asked.body.error.reason], [403, 'origin_not_allowed'])
  assert.equal(asked.headers['access-control-allow-origin'], undefined)
  const preflight = await h.api('OPTIONS', `/sessions/${session.id}/invitation`, {
    headers: {
      origin: SHOP_ORIGIN,
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'x-bond-nonce',
    },
  })
  assert.equal(preflight.headers['access-control-allow-origin'], undefined)
  assert.equal(preflight.headers['access-control-allow-headers'], undefined)
})

test('logs the session and never the nonce', async () => {
  const session = await create()
  await invitation(session.id, session.nonce)
  await invitation(session.id, 'A'.repeat(43))
  const lines = h.lines.filter((line) => line.includes('/invitation'))
  assert.ok(lines.length >= 2)
  for (const line of lines) {
    assert.ok(!line.includes(session.nonce), line)
    assert.ok(!line.includes('A'.repeat(43)), line)
  }
})

test('limits a network before it reads a session, and a search for sessions separately', async () => {
  await using limited = await harness({ limits: USUAL_LIMITS })
  const session = await limited.create()
  const ask = (id: string, nonce: string) =>
    limited.api('GET', `/sessions/${id}/invitation`, { headers: { 'x-bond-nonce': nonce } })
  const statuses = new Map<number, number>()
  for (let sent = 0; sent < USUAL_LIMITS.invitation.quota + 5; sent++) {
    const { status, headers } = await ask(session.id, session.nonce)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (status === 429) assert.match(String(headers.ratelimit), /"invitation"/)
  }
  assert.deepEqual(
    [...statuses],
    [
      [200, USUAL_LIMITS.invitation.quota],
      [429, 5],
    ],
  )
  // A guess costs the same bucket, so a session cannot be searched faster than it is read.
  assert.equal((await ask(`sess_${'0'.repeat(22)}`, session.nonce)).status, 429)
})
