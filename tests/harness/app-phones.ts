import assert from 'node:assert/strict'
import type { BrowserKeyRegistration, CreatedSession, TimelineEntry } from '@bonded/contract'
import {
  type AuthenticatorOptions,
  createAuthenticator,
} from '../../packages/simulator/src/webauthn/authenticator.ts'
import { asTestRoots } from './attested-phones.ts'
import { browserProof, newBrowserSecret } from './browser-proof.ts'
import { type Harness, harness, PUBLIC_ORIGIN, SHOP_ORIGIN } from './harness.ts'
import { approvalRequest, type TestPhone } from './phone.ts'

export const WORKFLOWS = [
  { name: 'bound', actions: ['act'], require: ['browser' as const] },
  { name: 'free', actions: ['act'] },
]
export const RP_ID = new URL(PUBLIC_ORIGIN).hostname

/** A service whose workflow `bound` requires the browser. It starts a thread for registrations. */
export const serviceForBrowserKeys = () => harness({ attestation: asTestRoots })

/** A tenant of its own, for each test. */
export async function setUp(h: Harness) {
  const shop = await h.addTenant({ workflows: WORKFLOWS })
  return { h, shop }
}
export type SetUp = Awaited<ReturnType<typeof setUp>>

export const reasonOf = (reply: { body?: { error?: { reason?: string } } }) =>
  reply.body?.error?.reason
export const createFor = ({ h, shop }: SetUp, workflow = 'bound') =>
  h.create({ workflow, action: 'act' }, shop)
export const challengeOf = async (h: Harness): Promise<string> =>
  (await h.api('POST', '/devices/challenges')).body.challenge
export const keysOf = async (h: Harness, phone: TestPhone) =>
  (await h.api('GET', '/devices', { token: phone.device_token })).body.keys
export const browserKeyOf = async (h: Harness, phone: TestPhone) =>
  (await h.api('GET', `/devices/${phone.device_id}`, { token: phone.device_token })).body
    .browser_key
export const stateOf = async ({ h, shop }: SetUp, session: CreatedSession) =>
  (await h.get(session, shop)).body.state
export const notesOf = async ({ h, shop }: SetUp, session: { id: string }) =>
  (await h.api('GET', `/sessions/${session.id}/timeline`, { token: shop.server })).body.entries.map(
    ({ reason, step }: TimelineEntry) => `${reason}${step === null ? '' : ` ${step}`}`,
  )

/** A passkey for the browser, over a fresh challenge. */
export async function newBrowserKey(h: Harness, options: Partial<AuthenticatorOptions> = {}) {
  const authenticator = createAuthenticator({ origin: PUBLIC_ORIGIN, rpId: RP_ID, ...options })
  const challenge = await challengeOf(h)
  const browserKey: BrowserKeyRegistration = {
    challenge,
    registration: authenticator.register(challenge),
  }
  return { authenticator, browserKey }
}

export const claimWith = ({ h }: SetUp, phone: TestPhone, session: CreatedSession) =>
  h.api('POST', `/sessions/${session.id}/claim`, {
    token: phone.device_token,
    body: { nonce: session.nonce, device_id: phone.device_id, browser_key: true },
  })

/** Claims and approves with a new browser key. */
export async function approveWith(
  s: SetUp,
  phone: TestPhone,
  session: CreatedSession,
  browserKey: BrowserKeyRegistration,
) {
  await claimWith(s, phone, session)
  return s.h.attest(phone, await s.h.view(phone, session), { tampering: { browserKey } })
}

/** The proof of the page's browser, by this passkey. */
export function prove(
  { h, shop }: SetUp,
  session: CreatedSession,
  authenticator: Parameters<typeof browserProof>[0],
  tamper?: Parameters<typeof browserProof>[2],
) {
  const of = {
    sessionId: session.id,
    tenantId: shop.tenant.id,
    workflow: 'bound',
    action: 'act',
    origin: SHOP_ORIGIN,
    secret: newBrowserSecret(),
  }
  return h.api('POST', `/sessions/${session.id}/browser`, {
    token: shop.publishable,
    headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
    body: browserProof(authenticator, of, tamper),
  })
}

/** A phone of an app whose browser key is registered with the first approval. */
export async function appPhone(s: SetUp) {
  const phone = await s.h.register()
  const { authenticator, browserKey } = await newBrowserKey(s.h)
  const session = await createFor(s)
  const approved = await approveWith(s, phone, session, browserKey)
  assert.equal(approved.body.state, 'step_up_required', approved.text)
  return { phone, authenticator, browserKey, session }
}

/** Adds a phone with a browser key to the subject of another one. */
export async function addPhone(
  { h }: SetUp,
  approver: TestPhone,
  authenticator: ReturnType<typeof createAuthenticator>,
) {
  const { body } = await h.registration()
  const signed = { ...body, browser_key: authenticator.register(body.challenge) }
  const approval = approvalRequest(approver, signed, h.now(), { origin: PUBLIC_ORIGIN })
  const added = await h.api('POST', '/devices', {
    token: approver.device_token,
    body: { ...signed, approval },
  })
  assert.equal(added.status, 201, added.text)
}
