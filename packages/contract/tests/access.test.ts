import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Endpoint, type EndpointName, ENDPOINTS } from '../src/index.ts'

/** A page of the tenant may send its Origin with a server credential, or must with its key. */
const FROM_PAGES = 'from pages of the tenant'
/** A credential of a backend or a link to the portal in such a page has leaked. */
const OWN_ONLY = 'from no page of a tenant'
/** The frame has the service's own origin, although it is in a page of the tenant. */
const FRAME = 'from pages of the tenant, and the frame in them'
/** No page of a tenant may send a device token, to any endpoint. */
const PHONE = 'from the phone'
/** The phone proves its key with the request, which is how it replaces an expired token. */
const EXPIRED = 'from the phone, also with an expired token'
/** What anyone may read. */
const PUBLIC = 'from anywhere'

/**
 * Who may call each endpoint, and from where, as section 3 of the protocol has it, sections 6 and
 * 15 of phones, 13 of webhooks, and 14 of the proof of the browser.
 */
const ACCESS: Readonly<Record<EndpointName, readonly [callers: string, from: string]>> = {
  createSession: ['backend', FROM_PAGES],
  getSession: ['backend, browser, phone', FROM_PAGES],
  deleteSession: ['backend', FROM_PAGES],
  completeSession: ['backend', FROM_PAGES],
  readTimeline: ['backend', FROM_PAGES],
  readReceipt: ['backend', FROM_PAGES],
  createQuorum: ['backend', FROM_PAGES],
  getQuorum: ['backend', FROM_PAGES],

  listSubjectDevices: ['backend', OWN_ONLY],
  blockSubject: ['backend', OWN_ONLY],
  unblockSubject: ['backend', OWN_ONLY],
  listRejections: ['backend', OWN_ONLY],
  createWebhookEndpoint: ['backend', OWN_ONLY],
  updateWebhookEndpoint: ['backend', OWN_ONLY],
  deleteWebhookEndpoint: ['backend', OWN_ONLY],
  rotateWebhookSecret: ['backend', OWN_ONLY],
  testWebhookEndpoint: ['backend', OWN_ONLY],
  openWebhookPortal: ['backend', OWN_ONLY],
  listWebhookEndpoints: ['backend, portal', OWN_ONLY],
  recoverWebhookEndpoint: ['backend, portal', OWN_ONLY],
  listWebhookDeliveries: ['backend, portal', OWN_ONLY],
  readWebhookEvent: ['backend, portal', OWN_ONLY],
  retryWebhookEvent: ['backend, portal', OWN_ONLY],

  cancelSession: ['browser', FROM_PAGES],
  reportContainment: ['browser', FROM_PAGES],
  checkPublishableKey: ['browser', FROM_PAGES],
  proveBrowser: ['browser', FRAME],
  openBrowserFrame: ['browser', FRAME],

  claimSession: ['phone', PHONE],
  declineSession: ['phone', PHONE],
  fetchEvidence: ['phone', PHONE],
  attest: ['backend, phone', OWN_ONLY],
  listKeys: ['phone', PHONE],
  getDevice: ['phone', PHONE],
  rotateDeviceToken: ['phone', EXPIRED],
  removeDevice: ['phone', PHONE],
  countInbox: ['phone', PHONE],
  openInbox: ['phone', PHONE],
  resumeInbox: ['phone', PHONE],
  setPush: ['phone', PHONE],

  readInvitation: ['anonymous', OWN_ONLY],
  challengeDevice: ['anonymous', OWN_ONLY],
  registerDevice: ['anonymous, phone', OWN_ONLY],
  recoverDevice: ['anonymous', OWN_ONLY],

  readOpenApi: ['anonymous', PUBLIC],
  alive: ['anonymous', PUBLIC],
  ready: ['anonymous', PUBLIC],
  version: ['anonymous', PUBLIC],
}

const endpoints = Object.entries(ENDPOINTS) as [EndpointName, Endpoint][]

function originsOf(endpoint: Endpoint): string {
  const { callers, ownOriginOnly, serviceFrame, acceptsExpiredToken } = endpoint
  const marks = [ownOriginOnly, serviceFrame, acceptsExpiredToken].filter((mark) => mark === true)
  assert.ok(marks.length < 2, `${endpoint.path} has marks that exclude each other`)
  if (ownOriginOnly === true) return OWN_ONLY
  if (serviceFrame === true) return FRAME
  if (acceptsExpiredToken === true) return EXPIRED
  if (callers.includes('backend') || callers.includes('browser')) return FROM_PAGES
  return callers.includes('phone') ? PHONE : PUBLIC
}

test('each endpoint accepts the callers and the origins that the protocol names for it', () => {
  const found = endpoints.map(([name, endpoint]) => [
    name,
    [endpoint.callers.toSorted().join(', '), originsOf(endpoint)],
  ])
  assert.deepEqual(Object.fromEntries(found), ACCESS)
})

test('a page of a tenant reaches only sessions and quorums with a server credential', () => {
  const reached = endpoints
    .filter(([, { callers, ownOriginOnly }]) => callers.includes('backend') && !ownOriginOnly)
    .map(([, { path }]) => path)
  assert.ok(reached.length > 0)
  for (const path of reached) assert.match(path, /^\/api\/v1\/(sessions|quorums)(\/|$)/)
})

test('no endpoint with a credential of a portal or an anonymous phone is open to pages', () => {
  for (const [name, { callers, ownOriginOnly, path }] of endpoints)
    if (callers.includes('portal') || (callers.includes('anonymous') && callers.length > 1))
      assert.equal(ownOriginOnly, true, `${name} ${path}`)
})
