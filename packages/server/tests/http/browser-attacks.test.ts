import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import {
  browserProof,
  newBrowserSecret,
  newPasskey,
} from '../../../../tests/harness/browser-proof.ts'
import { harness, PUBLIC_ORIGIN, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'
import { rawClient, rawRequest } from '../../../../tests/harness/raw-http.ts'

/* Attacks on the proof of the browser (protocol 14), while a session waits for it. */

const BOUND = { name: 'bound', actions: ['act'], require: ['browser' as const] }
const OTHER_ORIGIN = 'https://other.example'

/** What a caller presents in place of the page's own values. */
interface Presented {
  readonly path?: string
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A phone that approves any number of sessions, and the calls of a page and of strangers. */
async function setUp(t: TestContext) {
  const h = await harness({ workflows: [BOUND] })
  const other = await h.addTenant({ name: 'Other', workflows: [BOUND], origins: [OTHER_ORIGIN] })
  const verify = t.mock.method(h.service.assertionVerifiers.webauthn, 'verify')
  const { authenticator, key } = newPasskey(PUBLIC_ORIGIN)
  const phone = await h.register(undefined, key)
  const approve = async (session: CreatedSession) => {
    await h.claim(phone, session)
    const { body } = await h.attest(phone, await h.view(phone, session))
    assert.deepEqual(body.step_up.required, ['browser'])
  }
  const approved = async () => {
    const session = await h.create({})
    await approve(session)
    verify.mock.resetCalls()
    return session
  }
  const proofOf = ({ id }: CreatedSession, secret = newBrowserSecret()) =>
    browserProof(authenticator, {
      sessionId: id,
      tenantId: h.shop.tenant.id,
      workflow: 'bound',
      action: 'act',
      origin: SHOP_ORIGIN,
      secret,
    })
  const call = (
    session: CreatedSession,
    body: unknown,
    { path = '/browser', token = h.shop.publishable, headers = {} }: Presented = {},
  ) =>
    h.api('POST', `/sessions/${session.id}${path}`, {
      token,
      headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token, ...headers },
      body,
    })
  const timeline = async ({ id }: CreatedSession) =>
    (await h.api('GET', `/sessions/${id}/timeline`, { token: h.shop.server })).body.entries
  return {
    h,
    other,
    verify,
    approve,
    approved,
    proofOf,
    call,
    timeline,
    [Symbol.asyncDispose]: () => h[Symbol.asyncDispose](),
  }
}
const reasonOf = ({ body }: { body: { error?: { reason?: string } } }) => body.error?.reason

test('a stranger without the watch token reaches no cryptography, and uses up no attempt', async (t) => {
  await using s = await setUp(t)
  const session = await s.approved()
  const another = await s.h.create({})
  const [before, proof] = [await s.timeline(session), s.proofOf(session)]
  const strangers: readonly (readonly [reason: string, options: Presented])[] = [
    ['session_not_found', { headers: { 'x-bond-watch': '' } }],
    ['session_not_found', { headers: { 'x-bond-watch': 'bwt_x' } }],
    ['session_not_found', { headers: { 'x-bond-watch': `bwt_${'A'.repeat(43)}` } }],
    ['session_not_found', { headers: { 'x-bond-watch': another.watch_token } }],
    ['session_not_found', { token: s.other.publishable, headers: { origin: OTHER_ORIGIN } }],
    ['origin_not_allowed', { token: s.other.publishable }],
    ['origin_not_allowed', { headers: { origin: OTHER_ORIGIN } }],
    ['credential_not_accepted', { token: s.h.shop.server }],
    ['credential_invalid', { token: `pk_beta_${'0'.repeat(22)}` }],
  ]
  // Each more often than the failures that end an approval.
  for (const [reason, options] of strangers)
    for (let round = 0; round < 9; round++) {
      assert.equal(reasonOf(await s.call(session, proof, options)), reason)
      const framed = { ...options, path: '/browser/frame' }
      const opened = await s.call(session, { parent_origin: SHOP_ORIGIN }, framed)
      assert.notEqual(opened.status, 200)
    }
  assert.equal(s.verify.mock.callCount(), 0)
  assert.deepEqual(await s.timeline(session), before)
  assert.equal((await s.call(session, proof)).body.state, 'bonded')
})

test('accepts an Origin in one spelling only, and the same for the page around the frame', async (t) => {
  await using s = await setUp(t)
  const session = await s.approved()
  for (const origin of [
    'null',
    '*',
    'HTTPS://SHOP.EXAMPLE',
    'https://Shop.example',
    'https://shop.example.',
    'https://shop.example/',
    'https://shop.example:443',
    'https://shop.example:8443',
    'http://shop.example',
    'https://user@shop.example',
    'https://shop.example https://shop.example',
    'https://shop.example, https://shop.example',
    'https://shop.example#',
    'https://a.shop.example',
    'https://shop.example.evil.example',
  ]) {
    const proof = s.proofOf(session)
    const asPage = await s.call(session, proof, { headers: { origin } })
    assert.equal(reasonOf(asPage), 'origin_not_allowed', origin)
    const headers = { origin: PUBLIC_ORIGIN }
    const framed = await s.call(session, { ...proof, parent_origin: origin }, { headers })
    assert.equal(reasonOf(framed), 'origin_not_allowed', origin)
    const path = '/browser/frame'
    const opened = await s.call(session, { parent_origin: origin }, { headers, path })
    assert.equal(reasonOf(opened), 'origin_not_allowed', origin)
  }
  // A page that names itself as the page around the frame is not the frame.
  const itself = await s.call(session, { ...s.proofOf(session), parent_origin: SHOP_ORIGIN })
  assert.equal(reasonOf(itself), 'origin_not_allowed')
  assert.equal(s.verify.mock.callCount(), 0)
})

test('verifies no proof of another form', async (t) => {
  await using s = await setUp(t)
  const session = await s.approved()
  const proof = s.proofOf(session)
  const { assertion } = proof
  const { response } = assertion
  const withResponse = (members: object) => ({
    ...proof,
    assertion: { ...assertion, response: { ...response, ...members } },
  })
  const withOwnProto = (value: object) =>
    JSON.parse(`${JSON.stringify(value).slice(0, -1)},"__proto__":{"state":"bonded"}}`) as object
  const bodies: readonly unknown[] = [
    withOwnProto(proof),
    { ...proof, constructor: { prototype: { state: 'bonded' } } },
    { ...proof, assertion: withOwnProto(assertion) },
    { ...proof, assertion: { ...assertion, response: withOwnProto(response) } },
    { ...proof, commitment: [proof.commitment] },
    { ...proof, commitment: proof.commitment.slice(1) },
    { ...proof, parent_origin: null },
    { ...proof, parent_origin: [SHOP_ORIGIN] },
    { ...proof, parent_origin: `https://${'a'.repeat(300)}` },
    { ...proof, assertion: [assertion] },
    { ...proof, assertion: { ...assertion, id: { toString: 'x' } } },
    { ...proof, assertion: { ...assertion, type: 'PUBLIC-KEY' } },
    withResponse({ clientDataJSON: 'A'.repeat(4_097) }),
    withResponse({ authenticatorData: 'A'.repeat(2_049) }),
    withResponse({ signature: 'A'.repeat(201) }),
    withResponse({ signature: `${response.signature}=` }),
    withResponse({ signature: null }),
    withResponse({ userHandle: 'A'.repeat(129) }),
  ]
  for (const body of bodies) {
    const rejected = await s.call(session, body)
    assert.equal(rejected.status, 400, JSON.stringify(body))
    assert.match(String(reasonOf(rejected)), /^(unknown|invalid)_member$/, JSON.stringify(body))
  }
  assert.equal(s.verify.mock.callCount(), 0)
  assert.equal((await s.call(session, proof)).body.state, 'bonded')
})

test('rejects client data that only looks like that of a browser', async (t) => {
  await using s = await setUp(t)
  const session = await s.approved()
  const proof = s.proofOf(session)
  const clientData = Buffer.from(proof.assertion.response.clientDataJSON, 'base64url').toString()
  const texts: readonly (string | Buffer)[] = [
    '['.repeat(3_000),
    `${'{"a":'.repeat(400)}1${'}'.repeat(400)}`,
    'null',
    '"https://shop.example"',
    `${clientData.slice(0, -1)},"origin":"${SHOP_ORIGIN}"}`,
    clientData.replace('"origin"', '"__proto__":{"crossOrigin":true},"origin"'),
    `\uFEFF${clientData}`,
  ]
  for (const text of texts) {
    const clientDataJSON = Buffer.from(text).toString('base64url')
    const { assertion } = proof
    const response = { ...assertion.response, clientDataJSON }
    const rejected = await s.call(session, { ...proof, assertion: { ...assertion, response } })
    assert.equal(reasonOf(rejected), 'browser_proof_invalid', String(text).slice(0, 40))
  }
  assert.equal((await s.call(session, proof)).body.state, 'bonded')
})

test('eight failures at once end the approval, and neither the session nor another one', async (t) => {
  await using s = await setUp(t)
  const [session, another] = [await s.approved(), await s.approved()]
  const wrong = s.proofOf(another)
  const replies = await Promise.all(Array.from({ length: 20 }, () => s.call(session, wrong)))
  const reasons = replies.map(reasonOf)
  assert.equal(reasons.filter((reason) => reason === 'browser_proof_invalid').length, 8)
  assert.equal(reasons.filter((reason) => reason === 'session_not_live').length, 12)
  assert.equal(s.verify.mock.callCount(), 8)
  assert.equal((await s.call(another, s.proofOf(another))).body.state, 'bonded')
  s.h.clock.advance(1)
  await s.approve(session)
  assert.equal((await s.call(session, s.proofOf(session))).body.state, 'bonded')
})

test('copies of a proof at once bond the session once', async (t) => {
  await using s = await setUp(t)
  const session = await s.approved()
  const proof = s.proofOf(session)
  const replies = await Promise.all(Array.from({ length: 9 }, () => s.call(session, proof)))
  assert.deepEqual([...new Set(replies.map(({ body }) => body.state))], ['bonded'])
  assert.equal(s.verify.mock.callCount(), 1)
  const kinds = (await s.timeline(session)).map(({ kind }: { kind: string }) => kind)
  assert.equal(kinds.filter((kind: string) => kind === 'bonded').length, 1)
  // The session of a bonded browser accepts no other one.
  assert.equal(reasonOf(await s.call(session, s.proofOf(session))), 'session_not_live')
})

test('reads no byte of a body before the caller is admitted', async (t) => {
  await using s = await setUp(t)
  const session = await s.approved()
  for (const path of ['browser', 'browser/frame'])
    for (const [headers, reason] of [
      [{}, 'credential_missing'],
      [{ Authorization: `Bearer ${s.h.shop.publishable}` }, 'origin_not_allowed'],
      [
        { Authorization: `Bearer ${s.h.shop.publishable}`, Origin: 'https://evil.example' },
        'origin_not_allowed',
      ],
    ] as const) {
      using client = await rawClient(s.h.running.port)
      const line = `POST /api/v1/sessions/${session.id}/${path}`
      // The body never comes.
      client.send(
        rawRequest(line, {
          ...headers,
          'X-Bond-Watch': session.watch_token,
          'Content-Type': 'application/json',
          'Content-Length': 8_000,
        }),
      )
      await client.until(`"reason":"${reason}"`)
    }
})
