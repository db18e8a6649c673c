import assert from 'node:assert/strict'
import { BROWSER_PROOF } from '../../../../tests/harness/browser-proof.ts'
import { after, test } from 'node:test'
import { ENDPOINTS, type Endpoint, type EndpointName, type Workflow } from '@bonded/contract'
import {
  harness,
  PUBLIC_ORIGIN,
  type Reply,
  SHOP_ORIGIN,
} from '../../../../tests/harness/harness.ts'
import { attestation } from '../../../../tests/harness/phone.ts'
import { openChannel } from '../../../../tests/harness/channel.ts'

const WORKFLOWS: readonly Workflow[] = [
  { name: 'credit_application', actions: ['submit_application'] },
  { name: 'wire_transfer', actions: ['approve_wire', 'change_limit'] },
]
const UNKNOWN = `sess_${'0'.repeat(22)}`
const h = await harness({ workflows: WORKFLOWS })
after(() => h[Symbol.asyncDispose]())
/** Keys whose scope is one action of one workflow. */
const scoped = await h.addKeys(h.shop.tenant, [
  { workflow: 'wire_transfer', actions: ['approve_wire'] },
])

type Session = Awaited<ReturnType<typeof bondable>>['session']
type Send = (id: string, keys: { server: string; publishable: string }) => Promise<Reply>

/** Creates a session and a valid assertion for it. */
async function bondable(body: object) {
  const session = await h.create(body)
  const phone = await h.register()
  const view = (await h.claim(phone, session)).body
  const { verified_evidence } = (await h.evidence(phone, view)).body
  const assertion = attestation(phone, view, verified_evidence, h.now())
  return { session, assertion }
}

function requestsOf(session: Session, assertion: object): Partial<Record<EndpointName, Send[]>> {
  const watch = { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token }
  const secret = { 'x-bond-completion-secret': session.completion_secret ?? '' }
  return {
    getSession: [
      (id, { server }) => h.api('GET', `/sessions/${id}`, { token: server }),
      (id, { publishable }) =>
        h.api('GET', `/sessions/${id}`, { token: publishable, headers: watch }),
    ],
    readTimeline: [(id, { server }) => h.api('GET', `/sessions/${id}/timeline`, { token: server })],
    readReceipt: [(id, { server }) => h.api('GET', `/sessions/${id}/receipt`, { token: server })],
    completeSession: [
      (id, { server }) =>
        h.api('POST', `/sessions/${id}/form-completed`, { token: server, headers: secret }),
    ],
    attest: [
      (id, { server }) =>
        h.api('POST', '/attestations', { token: server, body: { ...assertion, session_id: id } }),
    ],
    cancelSession: [
      (id, { publishable }) =>
        h.api('POST', `/sessions/${id}/cancel`, { token: publishable, headers: watch }),
    ],
    proveBrowser: [
      (id, { publishable }) =>
        h.api('POST', `/sessions/${id}/browser`, {
          token: publishable,
          headers: watch,
          body: BROWSER_PROOF,
        }),
    ],
    openBrowserFrame: [
      (id, { publishable }) =>
        h.api('POST', `/sessions/${id}/browser/frame`, {
          token: publishable,
          headers: { ...watch, origin: PUBLIC_ORIGIN },
          body: { parent_origin: SHOP_ORIGIN },
        }),
    ],
    reportContainment: [
      (id, { publishable }) =>
        h.api('POST', `/sessions/${id}/containment`, {
          token: publishable,
          headers: watch,
          body: { verdict: 'ok', breaches: [] },
        }),
    ],
    deleteSession: [(id, { server }) => h.api('DELETE', `/sessions/${id}`, { token: server })],
  }
}

/** Keys of another tenant, which has the same workflows and origins. */
const foreign = await h.addTenant({ name: 'Other', workflows: WORKFLOWS })

/** Endpoints that take a tenant's credential and name no session. */
const WITHOUT_SESSION: readonly string[] = [
  'createSession',
  'createQuorum',
  'getQuorum',
  'checkPublishableKey',
]

/** Removes the request id and the date from a response. */
function comparable({ status, headers, text }: Reply): object {
  const { date: _date, 'x-request-id': id, ...others } = headers
  return { status, headers: others, text: text.replaceAll(String(id), '<id>') }
}

const APPROVE_WIRE = { workflow: 'wire_transfer', action: 'approve_wire' }
for (const [what, body, keys] of [
  ["the key's scope lacks its workflow", { workflow: 'credit_application' }, scoped],
  ["the key's scope lacks its action", { ...APPROVE_WIRE, action: 'change_limit' }, scoped],
  // Also with the session's own secrets.
  ['the key is of another tenant', APPROVE_WIRE, foreign],
] as const)
  test(`reads a session as unknown at every endpoint when ${what}`, async () => {
    const { session, assertion } = await bondable(body)
    const requests = requestsOf(session, assertion)
    for (const [name, endpoint] of Object.entries(ENDPOINTS) as [EndpointName, Endpoint][]) {
      const isTenants = endpoint.callers.some((kind) => kind === 'backend' || kind === 'browser')
      // Those of webhooks and of users accept no key with a scope.
      const isUnscoped = endpoint.rejections.includes('unscoped_credential_required')
      if (!isTenants || isUnscoped || WITHOUT_SESSION.includes(name)) continue
      const sends = requests[name]
      assert.ok(sends, `${name} takes a tenant's credential: add its request to this test`)
      for (const send of sends) {
        const outOfScope = await send(session.id, keys)
        assert.match(outOfScope.text, /session_not_(found|live)/, name)
        assert.deepEqual(comparable(outOfScope), comparable(await send(UNKNOWN, keys)), name)
      }
    }
    const { body: untouched } = await h.get(session)
    assert.deepEqual([untouched.state, untouched.hint], ['pending', 'evaluating'])
  })

for (const [what, keys] of [
  ['lacks the session in its scope', scoped],
  ['is of another tenant', foreign],
] as const)
  test(`rejects a channel like that of an unknown session when the key ${what}`, async () => {
    const rejections = []
    const session = await h.create({ workflow: 'credit_application' })
    for (const id of [session.id, UNKNOWN]) {
      const channel = openChannel(h.running.port, { ...session, id }, { key: keys.publishable })
      const { status, body } = await channel.rejected
      rejections.push([status, { ...body.error, requestId: '' }])
    }
    assert.deepEqual(rejections[0]?.[0], 404)
    assert.deepEqual(rejections[0], rejections[1])
  })

test('a session is of the tenant whose credential creates it, and of no other', async () => {
  for (const [own, other] of [
    [h.shop, foreign],
    [foreign, h.shop],
  ] as const) {
    const session = await h.create(APPROVE_WIRE, own)
    assert.equal(session.tenant_id, own.tenant.id)
    assert.equal((await h.get(session, own)).status, 200)
    assert.equal((await h.get(session, other)).status, 404)
  }
})

test('accepts a key for the workflow and action of its scope', async () => {
  const session = await h.create({ workflow: 'wire_transfer', action: 'approve_wire' }, scoped)
  assert.equal((await h.get(session, scoped)).status, 200)
  const channel = openChannel(h.running.port, session, { key: scoped.publishable })
  assert.equal((await channel.next()).type, 'hello')
  channel.socket.close()
  assert.equal((await h.kill(session, scoped)).status, 204)
  const timeline = await h.api('GET', `/sessions/${session.id}/timeline`, { token: scoped.server })
  assert.equal(timeline.body.state, 'killed')
})

test('reports which of tenant, workflow and action a publishable key does not cover', async () => {
  const check = async (query: Record<string, string>) => {
    const { status, body } = await h.api(
      'GET',
      `/publishable-key?${String(new URLSearchParams(query))}`,
      {
        token: scoped.publishable,
        headers: { origin: SHOP_ORIGIN },
      },
    )
    return [status, body?.error.reason, body?.error.param]
  }
  const own = { tenant_id: h.shop.tenant.id }
  assert.deepEqual(await check({}), [204, undefined, undefined])
  assert.deepEqual(await check({ ...own, workflow: 'wire_transfer', action: 'approve_wire' }), [
    204,
    undefined,
    undefined,
  ])
  const others = { tenant_id: foreign.tenant.id, workflow: 'wire_transfer' }
  assert.deepEqual(await check(others), [403, 'key_of_another_tenant', 'tenant_id'])
  // A workflow outside the scope reads like one that the tenant does not have.
  for (const workflow of ['credit_application', 'unknown'])
    assert.deepEqual(await check({ ...own, workflow }), [403, 'workflow_not_enabled', 'workflow'])
  for (const action of ['change_limit', 'unknown'])
    assert.deepEqual(await check({ workflow: 'wire_transfer', action }), [
      403,
      'action_not_enabled',
      'action',
    ])
})
