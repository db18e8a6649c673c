import { createHash, randomBytes } from 'node:crypto'
import { browserPayload, type CreatedSession, type TimelineEntry } from '@bonded/contract'
import {
  type AssertionTamper,
  createAuthenticator,
} from '../../../simulator/src/webauthn/authenticator.ts'
import {
  type Harness,
  harness,
  type HarnessOptions,
  PUBLIC_ORIGIN,
  SHOP_ORIGIN,
} from '../../../../tests/harness/harness.ts'
import type { TestPhone } from '../../../../tests/harness/phone.ts'

/* Sessions that require the browser, a phone with a passkey, and the page that proves itself. */

export const WORKFLOWS = [
  { name: 'bound', actions: ['act', 'other'], require: ['browser' as const] },
  { name: 'free', actions: ['act'] },
]
export const OTHER_ORIGIN = 'https://other.example'
export const setUp = async (options: HarnessOptions = {}) => {
  const h = await harness(options)
  const shop = await h.addTenant({ workflows: WORKFLOWS, origins: [SHOP_ORIGIN, OTHER_ORIGIN] })
  return { h, shop, [Symbol.asyncDispose]: () => h[Symbol.asyncDispose]() }
}
type SetUp = Awaited<ReturnType<typeof setUp>>

/** A phone with a passkey that also answers in a browser. */
export async function passkeyPhone(
  h: Harness,
  approver?: TestPhone,
  key?: Parameters<typeof createAuthenticator>[0]['key'],
) {
  const authenticator = createAuthenticator({ origin: PUBLIC_ORIGIN, ...(key && { key }) })
  const phone = await h.register(approver, {
    format: 'webauthn',
    register: (challenge) => ({ registration: authenticator.register(challenge) }),
    assert: (payload) => authenticator.assert(payload),
  })
  return { authenticator, phone }
}
type PasskeyPhone = Awaited<ReturnType<typeof passkeyPhone>>

export const shaOf = (text: string) => createHash('sha256').update(text).digest('base64url')
export const newSecret = () => randomBytes(32).toString('base64url')
export const reasonOf = (reply: { body?: { error?: { reason?: string } } }) =>
  reply.body?.error?.reason
export const createFor = ({ h, shop }: SetUp, body: object = {}) =>
  h.create({ workflow: 'bound', action: 'act', ...body }, shop)

export async function approve({ h }: SetUp, { phone }: PasskeyPhone, session: CreatedSession) {
  await h.claim(phone, session)
  return h.attest(phone, await h.view(phone, session))
}

export async function claimed({ h }: SetUp, { phone }: PasskeyPhone, session: CreatedSession) {
  await h.claim(phone, session)
  return h.view(phone, session)
}

export interface Bend {
  readonly fields?: object
  readonly tamper?: AssertionTamper
  readonly origin?: string
  readonly header?: string
  readonly watch?: string
  readonly from?: PasskeyPhone['authenticator']
}

/** The proof of the browser that knows the secret. */
export function prove(
  { h, shop }: SetUp,
  of: PasskeyPhone,
  session: CreatedSession,
  secret: string,
  bend: Bend = {},
) {
  const commitment = shaOf(secret)
  const origin = bend.origin ?? SHOP_ORIGIN
  const payload = browserPayload({
    session_id: session.id,
    tenant_id: shop.tenant.id,
    workflow: 'bound',
    action: 'act',
    origin,
    commitment,
    ...bend.fields,
  })
  const assertion = (bend.from ?? of.authenticator).confirm(payload, origin, bend.tamper)
  return send({ h, shop } as SetUp, session, { commitment, assertion }, bend)
}

export function send({ h, shop }: SetUp, session: CreatedSession, body: object, bend: Bend = {}) {
  return h.api('POST', `/sessions/${session.id}/browser`, {
    token: shop.publishable,
    headers: {
      origin: bend.header ?? SHOP_ORIGIN,
      'x-bond-watch': bend.watch ?? session.watch_token,
    },
    body,
  })
}

export const asBackend = async ({ h, shop }: SetUp, session: { id: string }, secret?: string) =>
  (
    await h.api('GET', `/sessions/${session.id}`, {
      token: shop.server,
      ...(secret !== undefined && { headers: { 'x-bond-browser-secret': secret } }),
    })
  ).body
export const asPage = async ({ h, shop }: SetUp, session: CreatedSession) =>
  (
    await h.api('GET', `/sessions/${session.id}`, {
      token: shop.publishable,
      headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
    })
  ).body
export const stepsOf = async ({ h, shop }: SetUp, session: { id: string }) =>
  (await h.api('GET', `/sessions/${session.id}/timeline`, { token: shop.server })).body.entries
    .filter(({ reason }: TimelineEntry) => reason === 'browser_proof_invalid')
    .map(({ step }: TimelineEntry) => step)
