import {
  devicePushPayload,
  inboxPayload,
  inboxResumePayload,
  type InboxItem,
  type Workflow,
} from '@bonded/contract'
import { type Harness, harness, type HarnessOptions, PUBLIC_ORIGIN } from './harness.ts'
import { assertion, type AttestedKey, type Tampering, type TestPhone } from './phone.ts'

export const HOUR = 60 * 60_000

/** A page for first bonds, and what waits in an inbox. */
export const INBOX_WORKFLOWS: readonly Workflow[] = [
  { name: 'page', actions: ['act'] },
  { name: 'agent', actions: ['act'], delivery: 'inbox', title: { en: 'Payments' } },
  { name: 'day', actions: ['act'], delivery: 'inbox', session_ttl_seconds: 86_400 },
  { name: 'strict', actions: ['act'], delivery: 'inbox', require: ['local_auth'] },
]

/** A service with a user whose phone has bonded once, and the calls of an inbox. */
export async function inboxHarness({
  key,
  ...options
}: HarnessOptions & { key?: AttestedKey } = {}) {
  const h = await harness({ workflows: INBOX_WORKFLOWS, ...options })
  const first = await h.register(undefined, key)
  const { phone, session, subjectRef } = await bondedUser(h, h.shop, first)
  // A request that is created in the millisecond of the key is not older than the key.
  h.clock.advance(1)
  const tryCreate = (given: object = {}, token = h.shop.server, headers = {}) =>
    h.api('POST', '/sessions', {
      token,
      headers,
      body: { workflow: 'agent', subject_ref: subjectRef, ...given },
    })
  const open = (opener: TestPhone = phone, given: Tampering & { cursor?: string } = {}) => {
    const { cursor, ...tampering } = given
    const body = inboxRequest(opener, h.now(), { tampering })
    return h.api('POST', '/inbox', {
      token: opener.device_token,
      body: { ...body, ...(cursor !== undefined && { cursor }) },
    })
  }
  const resume = (opener: TestPhone, tenantId: string) =>
    h.api('POST', '/inbox/resume', {
      token: opener.device_token,
      body: inboxRequest(opener, h.now(), { tenantId }),
    })
  const setPush = (opener: TestPhone, endpoint: string | null, tampering?: Tampering) =>
    h.api('POST', '/inbox/push', {
      token: opener.device_token,
      body: pushRequest(opener, h.now(), endpoint, tampering),
    })
  /** Creates a request, and returns it as the phone lists it. */
  const ask = async (given: object = {}) => {
    const created = await tryCreate(given)
    if (created.status !== 201) throw new Error(`create answered ${created.status} ${created.text}`)
    const { items } = (await open()).body as { items: readonly InboxItem[] }
    const item = items.find(({ session_id }) => session_id === created.body.id)
    if (item === undefined) throw new Error('the request is not listed')
    return { session: created.body, listed: { id: item.session_id, nonce: item.nonce } }
  }
  const count = async (opener: TestPhone = phone): Promise<number> =>
    (await h.api('GET', '/inbox', { token: opener.device_token })).body.waiting
  return {
    h,
    phone,
    /** The session of the first bond. */
    firstBond: session,
    subjectRef,
    tryCreate,
    open,
    resume,
    setPush,
    ask,
    count,
    [Symbol.asyncDispose]: () => h[Symbol.asyncDispose](),
  }
}

/** Bonds a phone on a page of the tenant. */
export async function bondedUser(h: Harness, keys = h.shop, phone?: TestPhone) {
  const user = phone ?? (await h.register())
  const session = await h.create({ workflow: 'page' }, keys)
  await h.claim(user, session)
  await h.attest(user, await h.view(user, session))
  const subjectRef = (await h.get(session, keys)).body.subject_ref as string
  return { phone: user, session, subjectRef }
}

/** The reason of a rejection. */
export function reasonOf({ body }: { body?: { error?: { reason?: string } } }): string | undefined {
  return body?.error?.reason
}

/** The body of POST /inbox or, with a tenant, of POST /inbox/resume. */
export function inboxRequest(
  phone: TestPhone,
  issuedAt: string,
  { tenantId, tampering }: { tenantId?: string; tampering?: Tampering } = {},
) {
  const { device_id, subject_id } = phone
  const fields = { device_id, subject_id, issued_at: issuedAt, origin: PUBLIC_ORIGIN }
  const payload =
    tenantId === undefined
      ? inboxPayload(fields)
      : inboxResumePayload({ ...fields, tenant_id: tenantId })
  return {
    issued_at: issuedAt,
    app_attest: assertion(phone, payload, tampering),
    ...(tenantId !== undefined && { tenant_id: tenantId }),
  }
}

/** The body of POST /inbox/push. */
export function pushRequest(
  phone: TestPhone,
  issuedAt: string,
  endpoint: string | null,
  tampering?: Tampering,
) {
  const { device_id, subject_id } = phone
  const fields = { device_id, subject_id, issued_at: issuedAt, origin: PUBLIC_ORIGIN, endpoint }
  return {
    endpoint,
    issued_at: issuedAt,
    app_attest: assertion(phone, devicePushPayload(fields), tampering),
  }
}

/** The bodies of the endpoints of an inbox, by the credential whose phone signs them. */
export function inboxBodies(h: Harness, holderOf: (credential: string) => TestPhone) {
  const tenantId = h.shop.tenant.id
  return {
    openInbox: (credential: string) => inboxRequest(holderOf(credential), h.now()),
    resumeInbox: (credential: string) => inboxRequest(holderOf(credential), h.now(), { tenantId }),
    setPush: (credential: string) => pushRequest(holderOf(credential), h.now(), null),
  }
}
