import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { harness, type Harness } from '../../../../tests/harness/harness.ts'
import {
  attestation,
  carriedSignals,
  evidenceRequest,
  type TestPhone,
} from '../../../../tests/harness/phone.ts'

const h: Harness = await harness()
after(() => h[Symbol.asyncDispose]())

async function ready() {
  const session = await h.create()
  const phone = await h.register()
  const view = (await h.claim(phone, session)).body
  const { verified_evidence } = (await h.evidence(phone, view)).body
  return { session, phone, view, verified_evidence }
}
const submit = (phone: TestPhone, body: object) =>
  h.api('POST', '/attestations', { token: phone.device_token, body })

test('lets only the pinned phone act; the first valid assertion pins like a claim', async () => {
  const { session } = await ready()
  const other = await h.register()
  assert.equal((await h.claim(other, session)).body.error.reason, 'session_claimed')
  assert.equal((await h.decline(other, session)).body.error.reason, 'session_claimed')
  assert.equal(
    (
      await h.api('GET', `/sessions/${session.id}?nonce=${session.nonce}`, {
        token: other.device_token,
      })
    ).status,
    404,
  )
  const fresh = await h.create()
  const unclaimed = await h.view(other, fresh)
  assert.equal((await h.attest(other, unclaimed)).body.state, 'bonded')
  assert.equal((await h.view(other, fresh)).state, 'bonded')
})

test('a bond moves the expiry later, never earlier', async () => {
  const early = await ready()
  const before = (await h.get(early.session)).body.expires_at
  await submit(early.phone, attestation(early.phone, early.view, early.verified_evidence, h.now()))
  assert.equal((await h.get(early.session)).body.expires_at, before)
  const session = await h.create()
  const phone = await h.register()
  h.clock.advance(290_000)
  const current = (await h.get(session)).body
  await h.claim(phone, current)
  await h.attest(phone, await h.view(phone, current))
  const bonded = (await h.get(session)).body
  assert.equal(bonded.state, 'bonded')
  assert.equal(Date.parse(bonded.expires_at), h.clock.now() + 120_000)
})

test('keeps a bond in the low band when local authentication failed', async () => {
  const session = await h.create()
  const phone = await h.register()
  await h.claim(phone, session)
  const signals = {
    ...carriedSignals(h.clock.now()),
    local_auth: { result: 'failed' as const, method: 'biometric' as const, verified_at: h.now() },
  }
  await h.attest(phone, await h.view(phone, session), { signals })
  const { verification } = (await h.get(session)).body
  assert.equal(verification.local_auth, 'failed')
  assert.equal(verification.assertion_band, 'low')
  assert.ok(
    verification.human_presence_confidence < 0.55 && verification.assertion_confidence < 0.55,
  )
})

test('judges local authentication by its time, and says in the timeline when it is too old', async () => {
  const judged = async (
    ageMs: number,
    {
      askedMsAgo = 0,
      method = 'biometric',
    }: { askedMsAgo?: number; method?: 'biometric' | 'none' } = {},
  ) => {
    const { session, view, phone } = await ready()
    const askedAt = h.clock.now() - askedMsAgo
    const local_auth = {
      result: 'verified' as const,
      method,
      verified_at: new Date(askedAt - ageMs).toISOString(),
    }
    const body = evidenceRequest(
      phone,
      view,
      { ...carriedSignals(h.clock.now()), local_auth },
      new Date(askedAt).toISOString(),
    )
    const reply = await h.api('POST', '/evidence', { token: phone.device_token, body })
    const timeline = await h.api('GET', `/sessions/${session.id}/timeline`, {
      token: h.shop.server,
    })
    const notes = timeline.body.entries.filter(
      ({ reason }: { reason?: string }) => reason === 'local_auth_too_old',
    )
    const { error, verified_evidence } = reply.body
    return error === undefined
      ? `${verified_evidence.local_auth.result} ${notes.length}`
      : `${error.reason} ${error.param}`
  }
  const AHEAD = 'invalid_member signals.local_auth.verified_at'
  for (const [ageMs, askedMsAgo, result] of [
    [120_000, 0, 'verified 0'],
    [120_001, 0, 'failed 1'],
    [0, 0, 'verified 0'],
    [-1, 0, 'verified 0'],
    [-30_000, 0, 'verified 0'],
    [-30_001, 0, AHEAD],
    [120_000, 60_000, 'verified 0'],
    [-30_001, 60_000, AHEAD],
  ] as const)
    assert.equal(await judged(ageMs, { askedMsAgo }), result, `${ageMs} ${askedMsAgo}`)
  assert.equal(await judged(0, { method: 'none' }), 'failed 0')
})

test('gives two tenants different pseudonyms of one phone, each of them stable', async () => {
  const other = await h.addTenant({ name: 'Second', origins: ['https://second.example'] })
  const phone = await h.register()
  const bondAt = async (keys: typeof other) => {
    const session = await h.create({ workflow: 'credit_application' }, keys)
    await h.claim(phone, session)
    await h.attest(phone, await h.view(phone, session))
    return (await h.get(session, keys)).body.subject_ref
  }
  const first = await bondAt(h.shop)
  assert.notEqual(await bondAt(other), first)
  assert.equal(await bondAt(h.shop), first)
})

test('rejects another subject’s phone at every step of a session for a named subject', async () => {
  const phone = await h.register()
  const known = await h.create()
  await h.claim(phone, known)
  await h.attest(phone, await h.view(phone, known))
  const { subject_ref } = (await h.get(known)).body
  const session = await h.create({ workflow: 'named', subject_ref })
  assert.equal(session.subject_ref, null, 'wanted, and not bonded yet')
  const stranger = await h.register()
  const shown = {
    ...session,
    tenant_name: '',
    requesting_origin: null,
    created_at: session.server_time,
  }
  assert.equal(
    (
      await h.api('GET', `/sessions/${session.id}?nonce=${session.nonce}`, {
        token: stranger.device_token,
      })
    ).status,
    404,
  )
  for (const reply of [
    await h.claim(stranger, session),
    await h.decline(stranger, session),
    await h.evidence(stranger, shown),
  ]) {
    assert.equal(reply.body.error.reason, 'device_not_usable')
  }
  await h.claim(phone, session)
  assert.equal((await h.attest(phone, await h.view(phone, session))).body.state, 'bonded')
  assert.equal(
    (await h.api('POST', '/sessions', { token: h.shop.server, body: { workflow: 'named' } })).body
      .error.reason,
    'subject_required',
  )
})

test('rejects a software key at every step for a production tenant', async () => {
  const live = await h.addTenant({
    name: 'Live',
    environment: 'production',
    origins: ['https://live.example'],
  })
  const session = await h.create({ workflow: 'credit_application' }, live)
  const phone = await h.register()
  const shown = {
    ...session,
    tenant_name: '',
    requesting_origin: null,
    created_at: session.server_time,
  }
  const replies = [
    await h.claim(phone, session),
    await h.decline(phone, session),
    await h.evidence(phone, shown),
    await submit(phone, attestation(phone, shown, (await ready()).verified_evidence, h.now())),
  ]
  for (const reply of replies) assert.equal(reply.body.error.reason, 'device_not_usable')
})
