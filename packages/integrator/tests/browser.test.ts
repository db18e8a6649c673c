import assert from 'node:assert/strict'
import { test } from 'node:test'
import { harness, OWNER } from './harness.ts'

const ORIGIN = 'https://www.bank.example'
const SECRET = 's'.repeat(43)
const ACT = { workflow: 'bound', action: 'act', owner: OWNER, acceptAnyContext: true } as const
const ofRule = (rule: object) => harness({ policy: { requireBrowser: { bound: rule as never } } })

test('sends the secret of the form with its read, and accepts a proof from the page', async () => {
  const h = ofRule({ origin: ORIGIN, firstBond: true })
  const { session } = await h.gate.create(ACT)
  h.service.bond(session.id, { browser: { origin: ORIGIN, proved_at: '2026-11-21T09:30:00.000Z' } })
  const verdict = await h.gate.verify({ ...ACT, session_id: session.id, browser_secret: SECRET })
  assert.equal(verdict.decision, 'accept')
  const headers = new Headers(h.service.seen.at(-1)?.headers)
  assert.equal(headers.get('x-bond-browser-secret'), SECRET)
})

test('sends no secret of another form', async () => {
  const h = ofRule({ origin: ORIGIN, firstBond: true })
  const { session } = await h.gate.create(ACT)
  for (const browser_secret of [undefined, null, '', `${SECRET}x`, `${SECRET.slice(1)}\n`])
    await h.gate.verify({ ...ACT, session_id: session.id, browser_secret })
  for (const { headers } of h.service.seen)
    assert.equal(new Headers(headers).has('x-bond-browser-secret'), false)
})

test('needs the user of each session, unless first bonds are allowed', async () => {
  const h = ofRule({ origin: ORIGIN })
  await assert.rejects(h.gate.create(ACT), { code: 'invalid_request' })
  assert.ok(await h.gate.create({ ...ACT, subject_ref: 'a'.repeat(43) }))
})

test('rejects a session that was created without its user', async () => {
  const open = harness()
  const { session } = await open.gate.create(ACT)
  const h = harness({
    policy: { requireBrowser: { bound: { origin: ORIGIN } } },
    store: open.store,
  })
  const verdict = await h.gate.verify({ ...ACT, session_id: session.id })
  assert.deepEqual([verdict.decision, verdict.reasons[0]], ['reject', 'session_unavailable'])
})

test('does not start with an origin that no page can have', () => {
  for (const origin of ['', 'bank.example', 'https://bank.example/', 'https://*.bank.example/a'])
    assert.throws(() => ofRule({ origin }), { code: 'invalid_configuration' }, origin)
})
