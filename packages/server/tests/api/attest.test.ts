import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { REASONS } from '@bonded/contract'
import { harness, type Harness } from '../../../../tests/harness/harness.ts'
import {
  attestation,
  carriedSignals,
  evidenceRequest,
  newKey,
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
const steps = async (session: { id: string }) => {
  const { entries } = (
    await h.api('GET', `/sessions/${session.id}/timeline`, { token: h.shop.server })
  ).body
  return entries
    .filter(({ kind }: { kind: string }) => kind === 'refused')
    .map(({ step }: { step: string }) => step)
}

test('returns the session for a replay of the bonding assertion, also after completion', async () => {
  const { session, phone, view, verified_evidence } = await ready()
  const body = attestation(phone, view, verified_evidence, h.now())
  assert.equal((await submit(phone, body)).body.state, 'bonded')
  h.clock.advance(60_000)
  const { seq } = (await h.get(session)).body
  assert.equal((await submit(phone, body)).body.state, 'bonded')
  await h.complete(session)
  assert.equal((await submit(phone, body)).body.state, 'completed')
  assert.equal((await h.get(session)).body.seq, seq + 1)
})

test('returns the one bond to twelve concurrent copies of an assertion', async () => {
  const { session, phone, view, verified_evidence } = await ready()
  const body = attestation(phone, view, verified_evidence, h.now())
  const { seq } = (await h.get(session)).body
  const replies = await Promise.all(Array.from({ length: 12 }, () => submit(phone, body)))
  assert.deepEqual(new Set(replies.map(({ body: { state } }) => state)), new Set(['bonded']))
  assert.equal((await h.get(session)).body.seq, seq + 1)
})

const cryptographic: [string, string, (given: Awaited<ReturnType<typeof ready>>) => object][] = [
  [
    'a key that is not the registered one',
    'signature',
    ({ phone, view, verified_evidence }) =>
      attestation(phone, view, verified_evidence, h.now(), { privateKey: newKey().privateKey }),
  ],
  [
    'another app',
    'app_id',
    ({ phone, view, verified_evidence }) =>
      attestation(phone, view, verified_evidence, h.now(), { appId: 'x' }),
  ],
  [
    'a hash of something else',
    'client_data_hash',
    ({ phone, view, verified_evidence }) =>
      attestation(phone, view, verified_evidence, h.now(), { hash: Buffer.alloc(32) }),
  ],
  [
    'a counter that was used',
    'counter',
    ({ phone, view, verified_evidence }) =>
      attestation(phone, view, verified_evidence, h.now(), { counter: phone.counter }),
  ],
  [
    'evidence with one member changed',
    'evidence_mac',
    ({ phone, view, verified_evidence }) =>
      attestation(
        phone,
        view,
        {
          ...verified_evidence,
          local_auth: { ...verified_evidence.local_auth, method: 'passkey' },
        },
        h.now(),
      ),
  ],
  [
    'evidence with a member added',
    'evidence_mac',
    ({ phone, view, verified_evidence }) =>
      attestation(phone, view, { ...verified_evidence, more: true } as never, h.now()),
  ],
  [
    'evidence under an unknown key',
    'evidence_mac',
    ({ phone, view, verified_evidence }) =>
      attestation(phone, view, { ...verified_evidence, kid: 'k9' }, h.now()),
  ],
  [
    'a key id of another device',
    'key_id',
    ({ phone, view, verified_evidence }) =>
      attestation({ ...phone, key_id: 'x' }, view, verified_evidence, h.now()),
  ],
  [
    'another workflow than the session’s',
    'client_data_hash',
    ({ phone, view, verified_evidence }) =>
      attestation(phone, { ...view, workflow: 'x' }, verified_evidence, h.now()),
  ],
  [
    'another action than the session’s',
    'client_data_hash',
    ({ phone, view, verified_evidence }) =>
      attestation(phone, { ...view, action: 'x' }, verified_evidence, h.now()),
  ],
  [
    'another tenant',
    'client_data_hash',
    ({ phone, view, verified_evidence }) =>
      attestation(
        phone,
        { ...view, tenant_id: `ten_${'0'.repeat(22)}` },
        verified_evidence,
        h.now(),
      ),
  ],
  [
    'another time than was signed',
    'client_data_hash',
    ({ phone, view, verified_evidence }) => ({
      ...attestation(phone, view, verified_evidence, new Date(h.clock.now() - 1_000).toISOString()),
      issued_at: h.now(),
    }),
  ],
  [
    'another origin',
    'client_data_hash',
    ({ phone, view, verified_evidence }) =>
      attestation(
        phone,
        { ...view, api_base_url: 'https://evil.example' },
        verified_evidence,
        h.now(),
      ),
  ],
  [
    'another context',
    'client_data_hash',
    ({ phone, view, verified_evidence }) =>
      attestation(phone, { ...view, context: { display: [] } }, verified_evidence, h.now()),
  ],
]
for (const [what, step, body] of cryptographic) {
  test(`rejects ${what} with the one public response, and names the step ${step} in the timeline`, async () => {
    const given = await ready()
    const reply = await submit(given.phone, body(given))
    assert.equal(reply.status, 400)
    const { requestId: _id, ...error } = reply.body.error
    assert.deepEqual(error, {
      code: 'invalid_request',
      message: REASONS.assertion_invalid.message,
      reason: 'assertion_invalid',
      doc_url: '/reasons#assertion_invalid',
    })
    assert.deepEqual(await steps(given.session), [step])
    assert.equal((await h.get(given.session)).body.state, 'pending')
  })
}

test('rejects evidence of another phone or another nonce of the session', async () => {
  const session = await h.create()
  const [phone, other] = [await h.register(), await h.register()]
  const view = await h.view(phone, session)
  const { verified_evidence: theirs } = (await h.evidence(other, view)).body
  const { verified_evidence: early } = (await h.evidence(phone, view)).body
  h.clock.advance(61_000)
  const { nonce } = (await h.get(session)).body
  assert.notEqual(nonce, view.nonce)
  for (const [evidence, at] of [
    [theirs, view.nonce],
    [early, nonce],
  ]) {
    const reply = await submit(phone, attestation(phone, { ...view, nonce: at }, evidence, h.now()))
    assert.equal(reply.body.error.reason, 'assertion_invalid')
  }
  assert.deepEqual(await steps(session), ['evidence_mac', 'evidence_mac'])
})

test('rejects evidence of another session, device or nonce', async () => {
  const a = await ready()
  const b = await ready()
  for (const evidence of [b.verified_evidence]) {
    const reply = await submit(a.phone, attestation(a.phone, a.view, evidence, h.now()))
    assert.equal(reply.body.error.reason, 'assertion_invalid')
  }
  assert.deepEqual(await steps(a.session), ['evidence_mac'])
})

test('accepts evidence for 300 s, then reports it as expired, so that the phone can fetch new evidence', async () => {
  await using long = await harness({
    workflows: [
      { name: 'strict', actions: ['act'], require: ['local_auth'], session_ttl_seconds: 900 },
    ],
  })
  for (const [waitMs, reason] of [
    [299_999, undefined],
    [300_000, 'evidence_expired'],
  ] as const) {
    const { session, phone } = await long.reach('step_up_required')
    const view = await long.view(phone, session)
    const { verified_evidence } = (await long.evidence(phone, view)).body
    long.clock.advance(waitMs)
    const reply = await long.api('POST', '/attestations', {
      token: phone.device_token,
      body: attestation(phone, view, verified_evidence, long.now()),
    })
    assert.equal(reply.body.error?.reason, reason)
  }
})

test('evidence never outlives its session', async () => {
  const session = await h.create()
  const phone = await h.register()
  h.clock.advance(200_000)
  const { verified_evidence } = (
    await h.evidence(phone, await h.view(phone, (await h.get(session)).body))
  ).body
  assert.equal(verified_evidence.expires_at, session.expires_at)
})

test('accepts an evidence request once, and only with the signed signals', async () => {
  const { session, phone, view } = await ready()
  const ask = (body: object) => h.api('POST', '/evidence', { token: phone.device_token, body })
  const body = evidenceRequest(phone, view, carriedSignals(h.clock.now()), h.now())
  assert.equal((await ask(body)).status, 200)
  assert.equal((await ask(body)).body.error.reason, 'assertion_invalid')
  const another = evidenceRequest(phone, view, carriedSignals(h.clock.now(), 6), h.now())
  assert.equal(
    (await ask({ ...another, signals: carriedSignals(h.clock.now(), 60) })).body.error.reason,
    'assertion_invalid',
  )
  assert.deepEqual(await steps(session), ['counter', 'client_data_hash'])
})

test('accepts issued_at from 120 s before to 30 s after the service’s time, and returns that time', async () => {
  for (const [offset, taken] of [
    [-120_000, true],
    [-120_001, false],
    [30_000, true],
    [30_001, false],
  ] as const) {
    const { session, phone, view, verified_evidence } = await ready()
    const issuedAt = new Date(h.clock.now() + offset).toISOString()
    const reply = await submit(phone, attestation(phone, view, verified_evidence, issuedAt))
    if (taken) assert.equal(reply.body.state, 'bonded', `${offset}`)
    else {
      assert.equal(reply.body.error.reason, 'issued_at_out_of_range')
      assert.equal(reply.body.error.server_time, h.now())
      assert.equal((await h.get(session)).body.state, 'pending')
    }
  }
})

test('rejects a body whose device or subject is not that of the device token', async () => {
  const { session, phone, view, verified_evidence } = await ready()
  const other = await h.register()
  const body = attestation(phone, view, verified_evidence, h.now())
  const asked = evidenceRequest(phone, view, carriedSignals(h.clock.now()), h.now())
  const fetch = (sent: object) =>
    h.api('POST', '/evidence', { token: phone.device_token, body: sent })
  for (const [member, replies] of [
    [
      'device_id',
      [
        await submit(other, body),
        await submit(phone, { ...body, device_id: other.device_id }),
        await fetch({ ...asked, device_id: other.device_id }),
      ],
    ],
    [
      'subject_id',
      [
        await submit(phone, { ...body, subject_id: other.subject_id }),
        await fetch({ ...asked, subject_id: other.subject_id }),
      ],
    ],
  ] as const)
    for (const { body: rejected } of replies)
      assert.deepEqual([rejected.error.reason, rejected.error.param], ['device_not_usable', member])
  assert.equal((await h.get(session)).body.state, 'pending')
})

test('marks a phone suspect for a counter that does not rise only if it was signed after the last accepted one', async () => {
  const { phone, view, verified_evidence } = await ready()
  const status = async () =>
    (await h.api('GET', `/devices/${phone.device_id}`, { token: phone.device_token })).body.status
  await submit(
    phone,
    attestation(phone, view, verified_evidence, h.now(), { counter: phone.counter }),
  )
  assert.equal(await status(), 'active', 'a repetition is the network’s doing')
  h.clock.advance(1_000)
  await submit(phone, attestation(phone, view, verified_evidence, h.now(), { counter: 1 }))
  assert.equal(await status(), 'suspect')
  assert.equal((await h.attest(phone, view)).body.error.reason, 'device_not_usable')
})

test('reads a counter beyond 2^31 as unsigned', async () => {
  const { phone, view, verified_evidence } = await ready()
  const high = attestation(phone, view, verified_evidence, h.now(), { counter: 0xffff_fffe })
  assert.equal((await submit(phone, high)).body.state, 'bonded')
})

test('accepts an assertion from the backend of the phone app, and returns its view', async () => {
  const { session, phone, view, verified_evidence } = await ready()
  const body = attestation(phone, view, verified_evidence, h.now())
  const reply = await h.api('POST', '/attestations', { token: h.shop.server, body })
  assert.equal(reply.body.state, 'bonded')
  assert.equal(reply.body.watch_token, session.watch_token)
})

test('rejects an assertion from another tenant’s backend without revealing the session', async () => {
  const other = await h.addTenant({ name: 'Other', origins: ['https://other.example'] })
  const { session, phone, view, verified_evidence } = await ready()
  const reply = await h.api('POST', '/attestations', {
    token: other.server,
    body: attestation(phone, view, verified_evidence, h.now()),
  })
  assert.equal(reply.body.error.reason, 'session_not_live')
  assert.equal((await h.get(session)).body.state, 'pending')
})

test('resets the hint to scanned when the service rejects an assertion of the phone that claimed', async () => {
  const { session, phone, view, verified_evidence } = await ready()
  const hint = async () => (await h.get(session)).body.hint
  const stranger = await h.register()
  await submit(stranger, attestation(stranger, view, verified_evidence, h.now()))
  assert.equal(await hint(), 'evaluating', 'a stranger changes nothing')
  const tampered = attestation(phone, view, verified_evidence, h.now(), { appId: 'another app' })
  assert.equal((await submit(phone, tampered)).body.error.reason, 'assertion_invalid')
  assert.equal(await hint(), 'scanned')
  const { seq } = (await h.get(session)).body
  await submit(phone, tampered)
  assert.equal((await h.get(session)).body.seq, seq, 'a second rejection adds no event')
  assert.equal((await h.attest(phone, view)).body.state, 'bonded')
})

test('keeps the hint when another tenant’s backend submits an assertion', async () => {
  const { session, phone, view, verified_evidence } = await ready()
  const other = await h.addTenant({ name: 'Elsewhere', origins: ['https://elsewhere.example'] })
  const body = attestation(phone, view, verified_evidence, h.now(), { appId: 'another app' })
  await h.api('POST', '/attestations', { token: other.server, body })
  assert.equal((await h.get(session)).body.hint, 'evaluating')
})
