import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import {
  browserPayload,
  credentialName,
  type SessionContext,
  type TimelineEntry,
} from '@bonded/contract'
import { createAuthenticator } from '../../../simulator/src/webauthn/authenticator.ts'
import { harness, PUBLIC_ORIGIN, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'

/* The proof of the browser by the service's frame, where a service has several organizations. */

const WORKFLOWS = [
  {
    name: 'bound',
    actions: ['act'],
    require: ['browser' as const],
    action_titles: { act: { en: 'Act now' } },
  },
]
const SECRET = 'A'.repeat(43)
const COMMITMENT = createHash('sha256').update(SECRET).digest('base64url')
/** The name by which a page recognizes a credential. */
const nameOf = (session: string, id: string) =>
  createHash('sha256').update(credentialName(session, id)).digest('base64url')

/** A session of the shop whose phone has approved, and calls as its page and as the frame in it. */
async function approved({
  relatedOrigins = false,
  context,
}: {
  relatedOrigins?: boolean
  context?: SessionContext
} = {}) {
  const h = await harness({ relatedOrigins })
  const shop = await h.addTenant({ workflows: WORKFLOWS, origins: [SHOP_ORIGIN] })
  const other = await h.addTenant({ workflows: WORKFLOWS, origins: ['https://other.example'] })
  const authenticator = createAuthenticator({ origin: PUBLIC_ORIGIN })
  const phone = await h.register(undefined, {
    format: 'webauthn',
    register: (challenge) => ({ registration: authenticator.register(challenge) }),
    assert: (payload) => authenticator.assert(payload),
  })
  const asked = { workflow: 'bound', action: 'act', ...(context && { context }) }
  const session = await h.create(asked, shop)
  const call = (
    path: string,
    body: object | undefined,
    { origin = PUBLIC_ORIGIN, token = shop.publishable, watch = session.watch_token } = {},
  ) =>
    h.api(body === undefined ? 'GET' : 'POST', `/sessions/${session.id}${path}`, {
      token,
      headers: { origin, 'x-bond-watch': watch },
      ...(body !== undefined && { body }),
    })
  const open = (bend: object = {}, parent_origin = SHOP_ORIGIN) =>
    call('/browser/frame', { parent_origin }, bend)
  const prove = (
    bend: object = {},
    {
      clientData = { crossOrigin: true, topOrigin: SHOP_ORIGIN },
      fields = {},
      origin = PUBLIC_ORIGIN,
      parent_origin = SHOP_ORIGIN,
    }: {
      clientData?: object
      fields?: object
      origin?: string
      parent_origin?: string | null
    } = {},
  ) => {
    const payload = browserPayload({
      session_id: session.id,
      tenant_id: shop.tenant.id,
      workflow: 'bound',
      action: 'act',
      origin: parent_origin ?? SHOP_ORIGIN,
      commitment: COMMITMENT,
      ...fields,
    })
    const assertion = authenticator.confirm(payload, origin, { clientData })
    const body = { commitment: COMMITMENT, assertion, ...(parent_origin && { parent_origin }) }
    return call('/browser', body, bend)
  }
  const steps = async () =>
    (
      await h.api('GET', `/sessions/${session.id}/timeline`, { token: shop.server })
    ).body.entries.flatMap(({ reason, step }: TimelineEntry) =>
      reason === 'browser_proof_invalid' ? [step] : [],
    )
  const approve = async () => {
    await h.claim(phone, session)
    const result = await h.attest(phone, await h.view(phone, session))
    assert.equal(result.body.state, 'step_up_required', result.text)
  }
  const page = () => call('', undefined, { origin: SHOP_ORIGIN })
  const asBackend = async () =>
    (
      await h.api('GET', `/sessions/${session.id}`, {
        token: shop.server,
        headers: { 'x-bond-browser-secret': SECRET },
      })
    ).body
  return {
    h,
    shop,
    other,
    authenticator,
    session,
    open,
    prove,
    steps,
    approve,
    page,
    asBackend,
    [Symbol.asyncDispose]: () => h[Symbol.asyncDispose](),
  }
}
const reasonOf = ({ body }: { body: { error?: { reason?: string } } }) => body.error?.reason

test('only the frame learns of the credentials, and its proof bonds the session', async () => {
  await using s = await approved()
  assert.equal(reasonOf(await s.open()), 'session_not_live')
  await s.approve()
  assert.deepEqual((await s.page()).body.browser, {
    timeout_ms: 120_000,
    frame_url: `${PUBLIC_ORIGIN}/frame/${s.shop.tenant.id}`,
  })
  const opened = await s.open()
  assert.deepEqual(opened.body, {
    tenant_id: s.shop.tenant.id,
    tenant_name: s.shop.tenant.name,
    workflow: 'bound',
    action: 'act',
    workflow_title: null,
    action_title: { en: 'Act now' },
    amount: null,
    rp_id: new URL(PUBLIC_ORIGIN).hostname,
    allow_credentials: [],
    credential_hashes: [nameOf(s.session.id, s.authenticator.credentialId)],
    timeout_ms: 120_000,
  })
  const proved = await s.prove()
  assert.equal(proved.body.state, 'bonded', proved.text)
  assert.deepEqual((await s.asBackend()).verification.browser.origin, SHOP_ORIGIN)
  assert.equal((await s.prove()).status, 200)
  assert.equal(reasonOf(await s.open()), 'session_not_live')
})

test('the frame learns the first amount that the user approved, and no other part of the context', async () => {
  const display = [
    { label: 'To', value: 'Ada Lovelace' },
    { label: 'Amount', value: '€ 9,500.00' },
    { label: 'Fee', value: '€ 1.00' },
  ]
  await using s = await approved({ context: { display } })
  await s.approve()
  const opened = await s.open()
  assert.equal(opened.body.amount, '€ 9,500.00')
  assert.doesNotMatch(opened.text, /Ada|Fee/)
  assert.doesNotMatch((await s.page()).text, /9,500/)
})

test('accepts the proof of a browser that does not send the origin of the top page', async () => {
  await using s = await approved()
  await s.approve()
  assert.equal((await s.prove({}, { clientData: { crossOrigin: true } })).status, 200)
})

test('opens to no page: neither to the tenant’s own, nor to another tenant’s', async () => {
  await using s = await approved()
  await s.approve()
  for (const [bend, parent] of [
    [{ origin: SHOP_ORIGIN }, SHOP_ORIGIN],
    [{}, 'https://evil.example'],
    [{}, PUBLIC_ORIGIN],
    [{}, 'https://other.example'],
    [{ origin: 'https://evil.example' }, SHOP_ORIGIN],
    [{ token: s.other.publishable, origin: 'https://other.example' }, 'https://other.example'],
  ] as const)
    assert.equal(reasonOf(await s.open(bend, parent)), 'origin_not_allowed', parent)
  for (const [bend, parent] of [
    [{ token: s.other.publishable }, 'https://other.example'],
    [{ watch: `bwt_${'A'.repeat(43)}` }, SHOP_ORIGIN],
  ] as const)
    assert.equal(reasonOf(await s.open(bend, parent)), 'session_not_found', parent)
})

test('rejects a proof that names its page, but comes from a page', async () => {
  await using s = await approved({ relatedOrigins: true })
  await s.approve()
  assert.equal(reasonOf(await s.prove({ origin: SHOP_ORIGIN })), 'origin_not_allowed')
  const unnamed = await s.prove({}, { parent_origin: null })
  assert.equal(reasonOf(unnamed), 'origin_not_allowed')
  assert.deepEqual(await s.steps(), [])
})

for (const [name, step, bend] of [
  ['in no frame', 'cross_origin', { clientData: { crossOrigin: false } }],
  ['without a word of the frame', 'cross_origin', { clientData: { crossOrigin: undefined } }],
  [
    'below another top page',
    'cross_origin',
    { clientData: { crossOrigin: true, topOrigin: 'https://evil.example' } },
  ],
  [
    'with a top page of null',
    'cross_origin',
    { clientData: { crossOrigin: true, topOrigin: null } },
  ],
  ['of the page itself', 'origin', { origin: SHOP_ORIGIN }],
  ['for another page', 'challenge', { fields: { origin: 'https://other.example' } }],
  ['for another tenant', 'challenge', { fields: { tenant_id: 'ten_0000000000000000000000' } }],
] as const)
  test(`rejects a framed proof ${name}`, async () => {
    await using s = await approved()
    await s.approve()
    const rejected = await s.prove({}, bend)
    assert.equal(reasonOf(rejected), 'browser_proof_invalid', rejected.text)
    assert.deepEqual(await s.steps(), [step])
    assert.equal((await s.prove()).status, 200)
  })

test('accepts a page’s own proof only with related origins', async () => {
  for (const relatedOrigins of [false, true]) {
    await using s = await approved({ relatedOrigins })
    await s.approve()
    const own = await s.prove(
      { origin: SHOP_ORIGIN },
      { clientData: {}, origin: SHOP_ORIGIN, parent_origin: null },
    )
    assert.equal(own.status, relatedOrigins ? 200 : 400, own.text)
    assert.deepEqual(await s.steps(), relatedOrigins ? [] : ['origin'])
  }
})
