import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type CreatedSession, ENDPOINTS, type Endpoint, type EndpointName } from '@bonded/contract'
import { BROWSER_PROOF } from '../../../../tests/harness/browser-proof.ts'
import {
  harness,
  PUBLIC_ORIGIN,
  type Reply,
  SHOP_ORIGIN,
  type State,
} from '../../../../tests/harness/harness.ts'
import { evidenceRequest, carriedSignals, type TestPhone } from '../../../../tests/harness/phone.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

/** A session with its phone, and its call from a state in which that has an effect. */
interface Own {
  readonly session: CreatedSession
  readonly phone: TestPhone
}
interface Case {
  readonly state: State
  readonly send: (own: Own) => Promise<Reply>
  /** What the call changes or returns of its own session. */
  readonly shows: (reply: Reply, own: Own) => unknown
  readonly expected: unknown
}

const backend = (method: 'GET' | 'DELETE', { session }: Own, path = '') =>
  h.api(method, `/sessions/${session.id}${path}`, { token: h.shop.server })
const page = ({ session }: Own, path = '', body?: object, origin = SHOP_ORIGIN) =>
  h.api(path === '' ? 'GET' : 'POST', `/sessions/${session.id}${path}`, {
    token: h.shop.publishable,
    headers: { origin, 'x-bond-watch': session.watch_token },
    ...(body && { body }),
  })
const timelineOf = async (own: Own) => (await backend('GET', own, '/timeline')).body
const stateOf = async (_reply: Reply, { session }: Own) => (await h.get(session)).body.state
const isOwn = ({ body }: Reply, { session }: Own) => (body.session_id ?? body.id) === session.id
const reason = ({ body }: Reply) => body?.error?.reason

/** Every call that names a session. */
const CASES: Partial<Record<EndpointName, readonly Case[]>> = {
  getSession: [
    { state: 'pending', send: (own) => backend('GET', own), shows: isOwn, expected: true },
    { state: 'pending', send: (own) => page(own), shows: isOwn, expected: true },
    {
      state: 'bonded',
      send: ({ phone, session }) =>
        h.api('GET', `/sessions/${session.id}?nonce=${session.nonce}`, {
          token: phone.device_token,
        }),
      shows: isOwn,
      expected: true,
    },
  ],
  readInvitation: [
    {
      state: 'pending',
      send: ({ session }) =>
        h.api('GET', `/sessions/${session.id}/invitation`, {
          headers: { 'x-bond-nonce': session.nonce },
        }),
      shows: ({ body }) => body.state,
      expected: 'pending',
    },
  ],
  deleteSession: [
    { state: 'bonded', send: (own) => backend('DELETE', own), shows: stateOf, expected: 'killed' },
  ],
  cancelSession: [
    { state: 'pending', send: (own) => page(own, '/cancel'), shows: stateOf, expected: 'killed' },
  ],
  // These sessions have nothing to prove. One that the page does not know would be unknown.
  proveBrowser: [
    {
      state: 'pending',
      send: (own) => page(own, '/browser', BROWSER_PROOF),
      shows: reason,
      expected: 'session_not_live',
    },
  ],
  openBrowserFrame: [
    {
      state: 'pending',
      send: (own) => page(own, '/browser/frame', { parent_origin: SHOP_ORIGIN }, PUBLIC_ORIGIN),
      shows: reason,
      expected: 'session_not_live',
    },
  ],
  completeSession: [
    {
      state: 'bonded',
      send: ({ session }) => h.complete(session),
      shows: stateOf,
      expected: 'completed',
    },
  ],
  readTimeline: [
    {
      state: 'pending',
      send: (own) => backend('GET', own, '/timeline'),
      shows: isOwn,
      expected: true,
    },
  ],
  readReceipt: [
    {
      state: 'bonded',
      send: (own) => backend('GET', own, '/receipt'),
      shows: ({ body }, { session }) =>
        Buffer.from(body.receipt.split('.')[1], 'base64url').includes(session.id),
      expected: true,
    },
  ],
  reportContainment: [
    {
      state: 'pending',
      send: (own) => page(own, '/containment', { verdict: 'breached', breaches: ['covered'] }),
      shows: async (_reply, own) =>
        (await timelineOf(own)).entries.some(
          ({ kind }: { kind: string }) => kind === 'containment',
        ),
      expected: true,
    },
  ],
  claimSession: [
    {
      state: 'pending',
      send: ({ phone, session }) => h.claim(phone, session),
      shows: async (_reply, { session }) => (await h.get(session)).body.hint,
      expected: 'scanned',
    },
  ],
  declineSession: [
    {
      state: 'pending',
      send: ({ phone, session }) => h.decline(phone, session),
      shows: stateOf,
      expected: 'killed',
    },
  ],
  fetchEvidence: [
    {
      state: 'pending',
      send: async ({ phone, session }) => {
        const view = (await h.claim(phone, session)).body
        const body = evidenceRequest(phone, view, carriedSignals(h.clock.now()), h.now())
        return h.api('POST', '/evidence', { token: phone.device_token, body })
      },
      shows: async (_reply, { session }) => (await h.get(session)).body.hint,
      expected: 'evaluating',
    },
  ],
  attest: [
    {
      state: 'pending',
      send: async ({ phone, session }) => h.attest(phone, (await h.claim(phone, session)).body),
      shows: stateOf,
      expected: 'bonded',
    },
  ],
}

for (const [name, endpoint] of Object.entries<Endpoint>(ENDPOINTS)) {
  const body: { readonly properties?: object } = endpoint.body?.schema ?? {}
  if (!endpoint.path.includes('{session_id}') && !('session_id' in (body.properties ?? {})))
    continue
  test(`${endpoint.method} ${endpoint.path} concerns the session that it names, and no other`, async () => {
    const cases = CASES[name as EndpointName]
    assert.ok(cases, `${name} names a session: add its call to this test`)
    for (const { state, send, shows, expected } of cases)
      for (const named of [0, 1]) {
        const pair = [await h.reach(state), await h.reach(state)] as const
        const [own, other] = named === 0 ? pair : ([pair[1], pair[0]] as const)
        const untouched = async () => [(await h.get(other.session)).body, await timelineOf(other)]
        const before = await untouched()
        assert.equal(await shows(await send(own), own), expected)
        assert.deepEqual(await untouched(), before)
      }
  })
}
