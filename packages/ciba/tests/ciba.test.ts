import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { type ReceiptKeySet, verifyReceipt } from '@bonded/integrator'
import { calculateJwkThumbprint, createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose'
import * as client from 'openid-client'
import { carriedSignals } from '../../../tests/carried-signals.ts'
import { AUDIENCE, cibaHarness, DETAILS, GRANT, openidClient } from './harness.ts'
import { resourceOf } from './resource.ts'

type Harness = Awaited<ReturnType<typeof cibaHarness>>

test('an approved request gives one token for what the user has read', async (t) => {
  const h = await cibaHarness(t)
  const asked = await h.ask({ login_hint: h.inbox.subjectRef, binding_message: 'Invoice 7' })
  await assert.rejects(h.poll(asked.auth_req_id), { error: 'authorization_pending' })
  const context = await h.read()
  assert.deepEqual(context?.requester, { kind: 'agent', name: 'Invoice agent' })
  assert.deepEqual(context?.display, [
    { label: 'Amount', value: '1250.00 EUR' },
    { label: 'To', value: 'ACME Ltd' },
    { label: 'Message', value: 'Invoice 7' },
  ])
  assert.deepEqual(JSON.parse(context?.text ?? ''), {
    authorization_details: DETAILS,
    binding_message: 'Invoice 7',
  })
  const session = await h.approve()
  h.pause()
  const tokens = await h.poll(asked.auth_req_id)
  assert.deepEqual(
    [tokens.token_type, tokens.expires_in, tokens.refresh_token, tokens.scope],
    ['dpop', 60, undefined, undefined],
  )
  const keys = createRemoteJWKSet(new URL('/jwks', h.issuer))
  const { payload } = await jwtVerify(tokens.access_token, keys, {
    issuer: h.issuer,
    audience: AUDIENCE,
    typ: 'at+jwt',
  })
  const { iat, exp, jti, cnf, ...claims } = payload
  const receipt = String(tokens['receipt'])
  assert.deepEqual(claims, {
    iss: h.issuer,
    aud: AUDIENCE,
    sub: h.inbox.subjectRef,
    client_id: 'invoice-agent',
    authorization_details: [DETAILS],
    approval: {
      session_id: session,
      receipt_sha256: createHash('sha256').update(receipt).digest('base64url'),
    },
  })
  const published = await fetch(new URL('/.well-known/jwks.json', h.config.service))
  const jwks = (await published.json()) as ReceiptKeySet
  const verdict = await verifyReceipt({ receipt, jwks, sessionId: session })
  assert.equal(verdict.decision, 'accept')
  assert.equal((exp ?? 0) - (iat ?? 0), 60)
  assert.match(jti ?? '', /^.{16,}$/)
  const jwk = await crypto.subtle.exportKey('jwk', h.keys.publicKey)
  assert.deepEqual(cnf, { jkt: await calculateJwkThumbprint(jwk as never) })
  const id = decodeJwt(tokens.id_token ?? '')
  assert.deepEqual([id.aud, id['acr']], ['invoice-agent', 'urn:bonded-sessions:acr:approval'])
  const { body } = await h.inbox.h.get({ id: session })
  assert.deepEqual([body.state, body.outcome], ['completed', 'accepted'])
})

test('asks no user where the service makes no receipts, of which every token names one', async (t) => {
  const h = await cibaHarness(t, { receipts: false })
  await assert.rejects(h.ask({ login_hint: h.inbox.subjectRef }))
  assert.equal(await h.waiting(), 0)
  assert.ok(h.lines.some((line) => line.includes('BONDED_RECEIPT_KEYS')))
})

test('a request gives no second token, neither later nor to concurrent polls', async (t) => {
  const h = await cibaHarness(t)
  const { auth_req_id } = await h.ask({ login_hint: h.inbox.subjectRef })
  await h.approve()
  const polls = await Promise.allSettled(Array.from({ length: 5 }, () => h.poll(auth_req_id)))
  const [first, ...more] = polls.flatMap((poll) => (poll.status === 'fulfilled' ? poll.value : []))
  assert.equal(more.length, 0)
  h.pause()
  // The answer can have got lost: the same key gets it again.
  assert.deepEqual(await h.poll(auth_req_id), { ...first, expires_in: 55 })
  await h.restart()
  h.pause()
  assert.deepEqual(await h.poll(auth_req_id), { ...first, expires_in: 50 })
  h.pause(50_000)
  await assert.rejects(h.poll(auth_req_id), { error: 'invalid_grant' })
})

const ANSWERS: Readonly<Record<string, (h: Harness) => Promise<unknown>>> = {
  declined: (h) => h.decline(),
  reported: (h) => h.decline('user_unexpected'),
  'approved without any motion': (h) => {
    const { local_auth } = carriedSignals(h.inbox.h.clock.now())
    return h.approve({ local_auth })
  },
}

for (const [answer, give] of Object.entries(ANSWERS))
  test(`a request that is ${answer} gives no token`, async (t) => {
    const h = await cibaHarness(t)
    const { auth_req_id } = await h.ask({ login_hint: h.inbox.subjectRef })
    await give(h)
    for (let poll = 0; poll < 2; poll++) {
      await assert.rejects(h.poll(auth_req_id), { error: 'access_denied' })
      h.pause()
    }
    const [line, ...more] = h.lines.map((each) => JSON.parse(each))
    assert.equal(more.length, 1)
    assert.deepEqual(
      [line.msg, line.client, line.error],
      ['rejected a client', 'invoice-agent', 'access_denied'],
    )
  })

test('a request stays pending during a step-up of the phone', async (t) => {
  const h = await cibaHarness(t, { workflow: 'strict' })
  const { auth_req_id } = await h.ask({ login_hint: h.inbox.subjectRef })
  const weak = carriedSignals(h.inbox.h.clock.now())
  await h.approve({ ...weak, local_auth: { ...weak.local_auth, result: 'failed', method: 'none' } })
  await assert.rejects(h.poll(auth_req_id), { error: 'authorization_pending' })
  const session = await h.approve()
  h.pause()
  assert.ok((await h.poll(auth_req_id)).access_token)
  const lines = h.lines.map((line) => JSON.parse(line))
  assert.deepEqual(
    lines.map(({ msg, client: asking, session: of }) => [msg, asking, of]),
    [['issued a token', 'invoice-agent', session]],
  )
  assert.doesNotMatch(h.lines.join(), /ACME|1250/)
})

test('a request ends with requested_expiry, on the phone too', async (t) => {
  const h = await cibaHarness(t)
  const asked = await h.ask({ login_hint: h.inbox.subjectRef, requested_expiry: '120' })
  assert.equal(asked.expires_in, 120)
  assert.equal(await h.waiting(), 1)
  h.pause(151_000)
  await assert.rejects(h.poll(asked.auth_req_id), { error: 'expired_token' })
  await h.running.requests.sweep()
  assert.equal(await h.waiting(), 0)
  await assert.rejects(h.poll(asked.auth_req_id), { error: 'expired_token' })
  h.pause(3_600_000)
  await h.running.requests.sweep()
  await assert.rejects(h.poll(asked.auth_req_id), { error: 'invalid_grant' })
})

test('a request lasts no longer than its workflow permits', async (t) => {
  const h = await cibaHarness(t)
  const asked = await h.ask({ login_hint: h.inbox.subjectRef, requested_expiry: '80000' })
  const { body } = await h.inbox.h.api('GET', `/sessions/${await h.id()}`, { token: h.credential })
  assert.equal(asked.expires_in, body.expires_in_ms / 1_000)
})

test('an approval that came too late gives no token', async (t) => {
  const h = await cibaHarness(t)
  const { auth_req_id } = await h.ask({ login_hint: h.inbox.subjectRef, requested_expiry: '60' })
  await h.approve()
  h.pause(60_000)
  await assert.rejects(h.poll(auth_req_id), { error: 'expired_token' })
})

test('a client asks only its own users, about its own types, in its own name', async (t) => {
  const h = await cibaHarness(t)
  const foreign = await openidClient(h.issuer, h.other)
  const login_hint = h.inbox.subjectRef
  await assert.rejects(foreign.ask({ login_hint }), { error: 'unknown_user_id' })
  await assert.rejects(h.ask({ login_hint: 'x'.repeat(43) }), { error: 'unknown_user_id' })
  const imposter = await openidClient(h.issuer, { ...h.other, client_id: h.agent.client_id })
  await assert.rejects(imposter.ask({ login_hint }), { error: 'invalid_client' })
  const { auth_req_id } = await h.ask({ login_hint })
  await h.approve()
  await assert.rejects(foreign.poll(auth_req_id), { error: 'invalid_grant' })
  await assert.rejects(imposter.poll(auth_req_id), { error: 'invalid_client' })
  assert.ok((await h.poll(auth_req_id)).access_token)
})

test('rejects a user without a phone', async (t) => {
  const h = await cibaHarness(t, { subjects: ['y'.repeat(43)] })
  await assert.rejects(h.ask({ login_hint: 'y'.repeat(43) }), { error: 'unknown_user_id' })
})

test('rejects details that the configuration does not describe', async (t) => {
  const h = await cibaHarness(t)
  const login_hint = h.inbox.subjectRef
  const { creditor: _creditor, ...missing } = DETAILS
  for (const details of [
    null,
    [],
    [DETAILS, DETAILS],
    [{ ...DETAILS, type: 'refund' }],
    [{ ...DETAILS, type: '__proto__' }],
    [{ ...DETAILS, note: 'it is only a test' }],
    [{ ...DETAILS, amount: 1250 }],
    [missing],
    'payment',
  ])
    await assert.rejects(h.ask({ login_hint }, details), (error: client.ResponseBodyError) => {
      assert.match(error.error, /^invalid_(?:authorization_details|request|target)$/)
      return true
    })
  for (const params of [
    { id_token_hint: 'e30.e30.e30' },
    { login_hint_token: 'user' },
    { login_hint, request_context: '{}' },
    { login_hint, binding_message: 'a\u202eb' },
    { login_hint, resource: 'https://other.example/' },
    { login_hint, requested_expiry: '0' },
  ])
    await assert.rejects(h.ask(params), { status: 400 }, JSON.stringify(params))
  await assert.rejects(h.ask({ login_hint, acr_values: 'urn:mace:incommon:iap:gold' }), {
    error: 'unmet_authentication_requirements',
  })
  assert.equal(await h.waiting(), 0)
})

test('a poll cannot change the details, the resource or the expiry of a request', async (t) => {
  const h = await cibaHarness(t)
  const { auth_req_id } = await h.ask({ login_hint: h.inbox.subjectRef })
  await h.approve()
  const changed = JSON.stringify([{ ...DETAILS, amount: '9250.00' }])
  for (const [params, error] of [
    [{ authorization_details: changed }, 'invalid_authorization_details'],
    [{ resource: 'https://other.example/' }, 'invalid_target'],
  ] as const) {
    await assert.rejects(h.poll(auth_req_id, { params }), { error })
    h.pause()
  }
  const { authorization_details } = await h.poll(auth_req_id, {
    params: { authorization_details: JSON.stringify([DETAILS]) },
  })
  assert.deepEqual(authorization_details, [DETAILS])
})

test('a poll without a proof of a key gives no token, and loses no approval', async (t) => {
  const h = await cibaHarness(t)
  const { auth_req_id } = await h.ask({ login_hint: h.inbox.subjectRef })
  await h.approve()
  const bare = client.genericGrantRequest(h.openid, GRANT, { auth_req_id })
  await assert.rejects(bare, { error: 'invalid_grant' })
  h.pause()
  assert.ok((await h.poll(auth_req_id)).access_token)
})

for (const [what, answer] of [
  ['limits the calls of the tenant', async () => new Response('', { status: 429 })],
  ['does not answer', () => Promise.reject(new Error('down'))],
] as const)
  test(`an approval that has ended gives no token while the service ${what}`, async (t) => {
    const h = await cibaHarness(t)
    const { auth_req_id } = await h.ask({ login_hint: h.inbox.subjectRef })
    const session = await h.approve()
    // The provider has stored that the user approved, and then found no proof of a key.
    const bare = client.genericGrantRequest(h.openid, GRANT, { auth_req_id })
    await assert.rejects(bare, { error: 'invalid_grant' })
    h.pause()
    const ended = await h.inbox.h.api('DELETE', `/sessions/${session}`, { token: h.credential })
    assert.equal(ended.status, 204)
    const { fetch: real } = globalThis
    const faulty = t.mock.method(globalThis, 'fetch', (url: string, init: RequestInit) =>
      url.startsWith(h.config.service) ? answer() : real(url, init),
    )
    await assert.rejects(h.poll(auth_req_id), { error: 'authorization_pending' })
    faulty.mock.restore()
    h.pause()
    await assert.rejects(h.poll(auth_req_id), { error: 'access_denied' })
  })

test('the log says that the service does not answer, and why', async (t) => {
  const h = await cibaHarness(t)
  const { auth_req_id } = await h.ask({ login_hint: h.inbox.subjectRef })
  const { fetch: real } = globalThis
  t.mock.method(globalThis, 'fetch', (url: string, init: RequestInit) =>
    url.startsWith(h.config.service)
      ? Promise.reject(new Error('connect ECONNREFUSED 192.0.2.1:8443'))
      : real(url, init),
  )
  await assert.rejects(h.ask({ login_hint: h.inbox.subjectRef }), {
    error: 'temporarily_unavailable',
  })
  assert.match(h.lines.splice(0).join(''), /ECONNREFUSED/)
  h.pause()
  await assert.rejects(h.poll(auth_req_id), { error: 'authorization_pending' })
  assert.match(h.lines.join(''), /ECONNREFUSED/)
})

for (const [what, row] of [
  ['an approval', 'approval'],
  ['the request of an approval', `oidc when new.payload ->> '$.params.approval' is not null`],
] as const)
  test(`what the provider could not store as ${what} waits on no phone`, async (t) => {
    const h = await cibaHarness(t)
    using db = new DatabaseSync(join(h.folder, 'ciba.db'))
    db.exec(`create trigger full before insert on ${row}
      begin select raise(fail, 'database or disk is full'); end`)
    await assert.rejects(h.ask({ login_hint: h.inbox.subjectRef }))
    assert.equal(await h.waiting(), 0)
  })

test('a resource spends a token once, by its key, for its audience and in time', async (t) => {
  const h = await cibaHarness(t)
  const token = async () => {
    const { auth_req_id } = await h.ask({ login_hint: h.inbox.subjectRef })
    await h.approve()
    h.inbox.h.clock.advance(60_000)
    return (await h.poll(auth_req_id)).access_token
  }
  const resource = await resourceOf(h.issuer, AUDIENCE)
  const first = await token()
  const thief = await client.randomDPoPKeyPair('ES256')
  await assert.rejects(resource.pay(first, thief), /confirmation mismatch/)
  await assert.rejects(resource.pay(first, undefined), /DPoP/)
  await assert.rejects((await resourceOf(h.issuer, 'https://a.example')).pay(first, h.keys), /aud/)
  assert.deepEqual(await resource.pay(first, h.keys), [DETAILS])
  await assert.rejects(resource.pay(first, h.keys), /spent/)
  const late = await token()
  // The resource tolerates 30 s.
  h.pause(91_000)
  await assert.rejects(resource.pay(late, h.keys), /exp/)
})

test('a client that polls too often slows down', async (t) => {
  const h = await cibaHarness(t)
  const { auth_req_id } = await h.ask({ login_hint: h.inbox.subjectRef })
  await assert.rejects(h.poll(auth_req_id), { error: 'authorization_pending' })
  await assert.rejects(h.poll(auth_req_id), { error: 'slow_down' })
})

test('a receipt that cannot be signed now delays the token, and loses no approval', async (t) => {
  const h = await cibaHarness(t)
  const { auth_req_id } = await h.ask({ login_hint: h.inbox.subjectRef })
  await h.approve()
  const { fetch: real } = globalThis
  const { mock } = t.mock.method(globalThis, 'fetch', (url: string, init: RequestInit) =>
    url.endsWith('/receipt') ? Promise.reject(new Error('no route')) : real(url, init),
  )
  await assert.rejects(h.poll(auth_req_id), { error: 'authorization_pending' })
  mock.restore()
  h.pause()
  assert.ok((await h.poll(auth_req_id)).access_token)
})

test('has no route beside its four, and takes its address from no header', async (t) => {
  const h = await cibaHarness(t)
  for (const path of ['/auth', '/me', '/reg', '/request', '/session/end', '/jwks/x', '/'])
    assert.equal((await fetch(h.issuer + path)).status, 404, path)
  const discovered = await new Promise<string>((resolve, reject) => {
    request(`${h.issuer}/.well-known/openid-configuration`, {
      headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example' },
    })
      .on('error', reject)
      .on('response', (response) => {
        response.setEncoding('utf8').on('data', resolve)
      })
      .end()
  })
  assert.doesNotMatch(discovered, /evil/)
})
