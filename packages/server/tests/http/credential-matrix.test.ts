import assert from 'node:assert/strict'
import { inboxBodies } from '../../../../tests/harness/inbox.ts'
import { BROWSER_PROOF } from '../../../../tests/harness/browser-proof.ts'
import { after, test } from 'node:test'
import { ENDPOINTS, type Endpoint, type EndpointName, REASONS } from '@bonded/contract'
import { webauthnKey } from '../../../../tests/harness/attested-phones.ts'
import { harness, PUBLIC_ORIGIN, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'
import * as valid from '../../../../tests/harness/valid-requests.ts'
import { webhookEvent } from '../../../../tests/harness/webhook-event.ts'
import {
  approvalRequest,
  attestation,
  carriedSignals,
  evidenceRequest,
  newKey,
  recoveryRequest,
  removalRequest,
  tokenRequest,
} from '../../../../tests/harness/phone.ts'

const OTHER_ORIGIN = 'https://other.example'
const h = await harness()
after(() => h[Symbol.asyncDispose]())
const other = await h.addTenant({ name: 'Other', origins: [OTHER_ORIGIN] })

/** Returns a valid body for a credential. */
type BodyOf = (credential: Credential) => Promise<object> | object
type Expected = readonly [status: number, reason?: string]
/** The session waits for its phone, so neither a browser nor the frame has anything to prove. */
const ok = (endpoint: Endpoint): Expected =>
  endpoint.serviceFrame === true ? [400, 'session_not_live'] : [endpoint.status]

/** The endpoints of a page, which presents its watch token. */
const WATCHED: readonly EndpointName[] = [
  'getSession',
  'cancelSession',
  'proveBrowser',
  'openBrowserFrame',
  'reportContainment',
]

/** The endpoints of a backend that need a bond, which the session does not have. */
const NEEDS_BOND: readonly EndpointName[] = ['completeSession', 'readReceipt']

let subjectRef: ReturnType<typeof valid.knownSubject> | undefined // Calls, so not while the file loads.
const CREDENTIALS = [
  'none',
  'server',
  'foreign server',
  'wrong server',
  'revoked server',
  'publishable',
  'foreign publishable',
  'wrong publishable',
  'device',
  'foreign device',
  'wrong device',
  'portal',
  'foreign portal',
  'wrong portal',
  'junk',
] as const
type Credential = (typeof CREDENTIALS)[number]
const ORIGINS = {
  none: undefined,
  shop: SHOP_ORIGIN,
  other: OTHER_ORIGIN,
  service: PUBLIC_ORIGIN,
  null: 'null',
  subdomain: 'https://a.shop.example',
  port: `${SHOP_ORIGIN}:8443`,
  http: 'http://shop.example',
} as const
type OriginName = keyof typeof ORIGINS

const revoked = await h.addKeys(h.shop.tenant, null)
await h.service.store.write((tables) =>
  tables.tenants.revoke(/^sk_beta_(.{10})/.exec(revoked.server)?.[1] ?? '', h.clock.now()),
)

/** The token of a link to a tenant's portal of webhooks. */
const portal = ({ server }: { readonly server: string }): string => {
  const keyId = /^sk_beta_(.{10})/.exec(server)?.[1] ?? ''
  const expiresAt = h.clock.now() + 60_000
  return h.service.keys.portalToken({ keyId, expiresAt }).reveal()
}

/**
 * Creates a session, a phone, and a request for every endpoint that is valid except for its caller.
 */
async function createScene() {
  const session = await h.create()
  const phone = await h.register()
  const foreign = await h.register()
  const page = await h.register(undefined, webauthnKey('unattested'))
  const shown = {
    ...session,
    tenant_name: '',
    requesting_origin: null,
    created_at: session.server_time,
  }
  const { challenge } = (await h.api('POST', '/devices/challenges')).body
  const tokens: Record<Credential, string | undefined> = {
    none: undefined,
    server: h.shop.server,
    'foreign server': other.server,
    'wrong server': `${h.shop.server.slice(0, -1)}${h.shop.server.endsWith('0') ? '1' : '0'}`,
    'revoked server': revoked.server,
    publishable: h.shop.publishable,
    'foreign publishable': other.publishable,
    'wrong publishable': `pk_beta_${'0'.repeat(22)}`,
    device: phone.device_token,
    'foreign device': foreign.device_token,
    'wrong device': `${phone.device_token.slice(0, -1)}${phone.device_token.endsWith('0') ? '1' : '0'}`,
    portal: portal(h.shop),
    'foreign portal': portal(other),
    'wrong portal': portal(h.shop).replace(/.$/, (last) => (last === 'A' ? 'E' : 'A')),
    junk: 'junk',
  }
  const registration = { format: 'software', challenge, public_key: newKey().public_key }
  /** Adds the approval of the device whose token is sent. Without one, a new subject registers. */
  const registerBody = (credential: Credential) => {
    const approver = { device: phone, 'foreign device': foreign }[credential as string]
    if (approver === undefined) return registration
    const approval = approvalRequest(approver, registration, h.now(), { origin: PUBLIC_ORIGIN })
    return { ...registration, approval }
  }
  const bodies: Partial<Record<EndpointName, BodyOf>> = {
    createSession: () => ({ workflow: 'credit_application' }),
    createQuorum: () => ({ workflow: 'credit_application', ...valid.QUORUM }),
    claimSession: () => ({ nonce: session.nonce, device_id: phone.device_id }),
    declineSession: () => ({
      nonce: session.nonce,
      device_id: phone.device_id,
      reason: 'user_declined',
    }),
    proveBrowser: () => BROWSER_PROOF,
    openBrowserFrame: (credential) => ({
      parent_origin: ORIGINS[credential.startsWith('foreign') ? 'other' : 'shop'],
    }),
    reportContainment: () => ({ verdict: 'breached', breaches: ['covered'] }),
    registerDevice: registerBody,
    fetchEvidence: () => evidenceRequest(phone, shown, carriedSignals(h.clock.now()), h.now()),
    attest: async () =>
      attestation(phone, shown, (await h.evidence(phone, shown)).body.verified_evidence, h.now()),
    recoverDevice: async () => {
      const { challenge } = (await h.api('POST', '/devices/challenges')).body
      return recoveryRequest(page, challenge, { origin: PUBLIC_ORIGIN })
    },
    removeDevice: () => removalRequest(phone, phone.device_id, h.now(), { origin: PUBLIC_ORIGIN }),
    rotateDeviceToken: () => tokenRequest(phone, h.now(), { origin: PUBLIC_ORIGIN }),
    ...inboxBodies(h, (credential) => (credential === 'foreign device' ? foreign : phone)),
    createWebhookEndpoint: () => ({ url: 'https://hooks.example/' }),
    recoverWebhookEndpoint: () => ({ since: h.now() }),
  }
  const [{ id: session_id }, { device_id }] = [session, phone]
  const subject_ref = await (subjectRef ??= valid.knownSubject(h))
  const ids = { session_id, device_id, subject_ref, ...valid.NO_QUORUM, ...(await webhookEvent(h)) }
  return { session, phone, ids, tokens, bodies }
}

/** Returns the response that protocol 3 requires for this caller at this endpoint. */
function expected(name: EndpointName, credential: Credential, origin: OriginName): Expected {
  const endpoint: Endpoint = ENDPOINTS[name]
  const open = endpoint.callers.every((caller) => caller === 'anonymous')
  const ownOrNone = origin === 'none' || origin === 'service'
  // Anonymous endpoints ignore credentials. Those of the phone page check the Origin.
  if (open)
    return ownOrNone || endpoint.ownOriginOnly !== true ? ok(endpoint) : [403, 'origin_not_allowed']
  if (credential === 'none') {
    if (!endpoint.callers.includes('anonymous')) return [401, 'credential_missing']
    return ownOrNone ? ok(endpoint) : [403, 'origin_not_allowed']
  }
  // The checksum is wrong, so the value is not a credential.
  if (credential === 'junk' || credential === 'wrong server') return [401, 'credential_invalid']
  const kind = credential.endsWith('server')
    ? 'backend'
    : credential.endsWith('publishable')
      ? 'browser'
      : credential.endsWith('portal')
        ? 'portal'
        : 'phone'
  if (!endpoint.callers.includes(kind)) return [401, 'credential_not_accepted']
  if (/^(wrong|revoked)/.test(credential)) return [401, 'credential_invalid']
  const foreign = credential.startsWith('foreign')
  if (kind === 'phone') {
    if (!ownOrNone) return [403, 'origin_not_allowed']
    if (!foreign) return ok(endpoint)
    if (/^(registerDevice|getSession|listKeys|(count|open|resume)Inbox|setPush)$/.test(name))
      return ok(endpoint)
    if (name === 'getDevice' || name === 'removeDevice' || name === 'rotateDeviceToken')
      return [404, 'device_not_found']
    return [400, 'device_not_usable']
  }
  if (kind === 'portal' && !ownOrNone) return [403, 'origin_not_allowed']
  // The frame in a page has the service's origin.
  const itsOrigin = name === 'openBrowserFrame' ? 'service' : foreign ? 'other' : 'shop'
  // A server credential with an Origin at attestations or webhooks has leaked into a page.
  const fromPage = origin === itsOrigin && endpoint.ownOriginOnly !== true
  const originPasses = fromPage || (kind === 'backend' && origin === 'none') || kind === 'portal'
  if (!originPasses) return [403, 'origin_not_allowed']
  if (name === 'createQuorum') return [400, 'invalid_member']
  if (!foreign && name !== 'getQuorum')
    return NEEDS_BOND.includes(name) ? [400, 'session_not_bonded'] : ok(endpoint)
  if (name === 'createSession' || name === 'checkPublishableKey') return ok(endpoint)
  if (endpoint.path.includes('{subject_ref}')) return [404, 'subject_not_found']
  if (endpoint.path.includes('{endpoint_id}')) return [404, 'webhook_endpoint_not_found']
  if (endpoint.path.includes('{event_id}')) return [404, 'webhook_event_not_found']
  // A list, and a new endpoint, are those of the caller.
  if (/^\/api\/v1\/(webhook|rejections)/.test(endpoint.path)) return ok(endpoint)
  return name === 'attest' ? [400, 'session_not_live'] : [404, 'session_not_found']
}

for (const name of Object.keys(ENDPOINTS) as EndpointName[]) {
  const endpoint: Endpoint = ENDPOINTS[name]
  test(`${endpoint.method} ${endpoint.path} responds to every credential and every Origin as protocol 3 requires`, async () => {
    const changes =
      /^((delete|cancel|decline|claim)Session|attest|(remove|register)Device|fetchEvidence|(create|delete)WebhookEndpoint)$/.test(
        name,
      )
    let current = await createScene()
    for (const credential of CREDENTIALS) {
      for (const origin of Object.keys(ORIGINS) as OriginName[]) {
        const wanted = expected(name, credential, origin)
        const { session, ids, tokens, bodies } = current
        const path = valid.pathOf(endpoint, ids)
        const query =
          name === 'getSession' && credential.endsWith('device') ? `?nonce=${session.nonce}` : ''
        const headers: Record<string, string> = {}
        const from = ORIGINS[origin]
        if (from !== undefined) headers.origin = from
        if (WATCHED.includes(name)) headers['x-bond-watch'] = session.watch_token
        if (name === 'readInvitation') headers['x-bond-nonce'] = session.nonce
        if (name === 'completeSession')
          headers['x-bond-completion-secret'] = session.completion_secret ?? ''
        const reply = await h.call(endpoint.method, path + query, {
          token: tokens[credential],
          headers,
          body: await bodies[name]?.(credential),
        })
        assert.deepEqual(
          [reply.status, reply.body?.error?.reason],
          [wanted[0], wanted[1]],
          `${credential}, Origin ${origin}: ${reply.text}`,
        )
        if (reply.status === 401) assert.equal(reply.headers['www-authenticate'], 'Bearer')
        assert.match(String(reply.headers['x-request-id']), /^req_/)
        assert.equal(reply.headers['cache-control'], 'no-store')
        if (reply.body?.error)
          assert.equal(reply.body.error.requestId, reply.headers['x-request-id'])
        // Replaces what a successful call has used up.
        if (changes && reply.status < 300) current = await createScene()
      }
    }
  })
}

test('returns exactly the members of protocol 3 in each of the three views', async () => {
  const { session, phone } = await createScene()
  const shared = [
    'id',
    'state',
    'nonce',
    'qr_payload',
    'api_base_url',
    'universal_link',
    'websocket_url',
    'challenge_expires_at',
    'expires_at',
    'workflow',
    'action',
    'tenant_id',
    'server_time',
    'expires_in_ms',
    'challenge_expires_in_ms',
    'challenge_rotates_in_ms',
    'seq',
    'verification',
  ]
  const members = (body: object) => Object.keys(body).sort()
  const { body: full } = await h.get(session)
  assert.deepEqual(
    members(full),
    [
      ...shared,
      'qr_svg_url',
      'qr_content',
      'context',
      'subject_ref',
      'watch_token',
      'step_up',
      'hint',
      'ended_reason',
      'decline_note',
      'outcome',
    ].sort(),
  )
  assert.deepEqual(members(session), [...members(full), 'completion_secret'].sort())
  const headers = { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token }
  const token = h.shop.publishable
  const browser = await h.api('GET', `/sessions/${session.id}`, { token, headers })
  assert.deepEqual(
    members(browser.body),
    [
      ...shared,
      'tenant_name',
      'tenant_logo_url',
      'qr_svg_url',
      'qr_content',
      'watch_token',
      'hint',
      'ended_reason',
      'outcome',
      'browser',
    ].sort(),
  )
  const unclaimed = [
    ...shared,
    'tenant_name',
    'requesting_origin',
    'workflow_title',
    'action_title',
    'ended_reason',
    'context',
    'created_at',
    'step_up',
    'outcome',
  ]
  assert.deepEqual(members(await h.view(phone, session)), unclaimed.sort())
  await h.claim(phone, session)
  assert.deepEqual(members(await h.view(phone, session)), [...unclaimed, 'watch_token'].sort())
})

test('shows a verification to no browser, and to the phone only after its assertion has bonded', async () => {
  const { session, phone } = await h.reach('bonded')
  const browser = await h.api('GET', `/sessions/${session.id}`, {
    token: h.shop.publishable,
    headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
  })
  assert.deepEqual([browser.body.state, browser.body.verification], ['bonded', null])
  assert.equal((await h.view(phone, session)).verification?.device_possession, true)
})

test('responds to a missing, wrong or foreign watch token like an unknown session', async () => {
  const session = await h.create()
  const another = await h.create()
  const read = (id: string, watch?: string) =>
    h.api('GET', `/sessions/${id}`, {
      token: h.shop.publishable,
      headers: { origin: SHOP_ORIGIN, ...(watch === undefined ? {} : { 'x-bond-watch': watch }) },
    })
  const replies = [
    await read(session.id),
    await read(session.id, 'bwt_x'),
    await read(session.id, another.watch_token),
    await read(`sess_${'0'.repeat(22)}`, session.watch_token),
    await read('nonsense', session.watch_token),
  ]
  for (const reply of replies) {
    const { requestId: _id, doc_url: _page, ...error } = reply.body.error
    assert.deepEqual(
      [reply.status, error],
      [
        404,
        {
          code: 'not_found',
          message: REASONS.session_not_found.message,
          reason: 'session_not_found',
        },
      ],
    )
  }
})

test('shows the phone no origin until a page has presented the watch token, then the first one', async () => {
  const two = await h.addTenant({
    name: 'Two',
    origins: ['https://a.two.example', 'https://b.two.example'],
  })
  const session = await h.create({ workflow: 'credit_application' }, two)
  const phone = await h.register()
  const originShown = async () => (await h.view(phone, session)).requesting_origin
  const poll = (origin: string, token: string) =>
    h.api('GET', `/sessions/${session.id}`, {
      token: two.publishable,
      headers: { origin, 'x-bond-watch': token },
    })
  assert.equal(await originShown(), null)
  await poll('https://a.two.example', 'bwt_wrong')
  assert.equal(await originShown(), null)
  for (const origin of ['https://b.two.example', 'https://a.two.example'])
    await poll(origin, session.watch_token)
  assert.equal(await originShown(), 'https://b.two.example')
  // The tenant’s only origin is not a substitute for one that a page presented.
  assert.equal((await h.view(phone, await h.create())).requesting_origin, null)
})
