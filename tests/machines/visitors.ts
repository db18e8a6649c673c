import assert from 'node:assert/strict'
import { bindingDigest, createGate, memoryPendingStore } from '@bonded/integrator'
import { createSimulatedPhone, inboxLink } from '@bonded/simulator'
import { openidClient, type TestClient } from '../../packages/ciba/tests/harness.ts'

/** The names of the shipped files, which lead to the proxy. */
export const ORIGINS = {
  service: 'https://bond.example.com',
  provider: 'https://approve.example.com',
  console: 'https://console.example.com',
} as const

type Phone = ReturnType<typeof createSimulatedPhone>

/**
 * A bond on a page of a tenant, with the workflow `page`.
 *
 * @returns the phone of the user, and how the tenant names them
 */
export async function bondOnPage(credential: string): Promise<{ phone: Phone; subject: string }> {
  const gate = createGate({
    baseUrl: `${ORIGINS.service}/api/v1`,
    serverCredential: credential,
    store: memoryPendingStore(),
  })
  const phone = createSimulatedPhone({ origin: ORIGINS.service })
  const bond = { workflow: 'page', action: 'act', owner: 'user-1' }
  const digest = await bindingDigest({ amount: 1 })
  const { session } = await gate.create({ ...bond, context: { display: [], digest } })
  assert.equal((await phone.run(session.qr_payload, 'approve')).state, 'bonded')
  const accept = async () => 'stored'
  const ended = await gate.protect({
    ...bond,
    session_id: session.id,
    form_digest: digest,
    accept,
    review: accept,
  })
  assert.equal(ended.outcome, 'completed')
  const read = await fetch(`${ORIGINS.service}/api/v1/sessions/${session.id}`, {
    headers: { authorization: `Bearer ${credential}` },
  })
  const { subject_ref } = (await read.json()) as { readonly subject_ref: string }
  return { phone, subject: subject_ref }
}

/**
 * A client of the OpenID provider asks for a payment, and the user approves it in the inbox.
 *
 * @returns what the token permits
 */
export async function approveForClient(
  client: TestClient,
  { phone, subject }: { phone: Phone; subject: string },
): Promise<unknown> {
  const { ask, poll } = await openidClient(ORIGINS.provider, client)
  const { auth_req_id } = await ask({ login_hint: subject, requested_expiry: '600' })
  const [item] = (await (await phone.inbox()).open()).items
  assert.ok(item !== undefined, 'the request is in the inbox')
  assert.equal((await phone.run(inboxLink(item), 'approve')).state, 'bonded')
  return (await poll(auth_req_id)).authorization_details
}

/** Opens a page as a browser without scripts does: with cookies, to the provider and back. */
export async function visit(page: string): Promise<Response> {
  const jars = new Map<string, Map<string, string>>()
  let url = new URL(page)
  for (let hops = 0; hops < 12; hops++) {
    const jar = jars.get(url.origin) ?? new Map<string, string>()
    jars.set(url.origin, jar)
    const cookie = [...jar].map((pair) => pair.join('=')).join('; ')
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      jar.set(name, value)
    }
    const to = response.headers.get('location')
    if (to === null) return response
    url = new URL(to, url)
  }
  throw new Error(`too many redirects at ${url.href}`)
}
