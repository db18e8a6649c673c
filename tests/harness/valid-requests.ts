import { ENDPOINTS, type Endpoint, type EndpointName } from '@bonded/contract'
import { webauthnKey } from './attested-phones.ts'
import { BROWSER_PROOF } from './browser-proof.ts'
import { type Harness, PUBLIC_ORIGIN, type Reply, SHOP_ORIGIN } from './harness.ts'
import {
  attestation,
  carriedSignals,
  evidenceRequest,
  newKey,
  recoveryRequest,
  removalRequest,
  tokenRequest,
} from './phone.ts'
import { webhookEvent } from './webhook-event.ts'

/** The reference of a user whom the tenant knows by a bond. */
export async function knownSubject(h: Harness): Promise<string> {
  const { session } = await h.reach('bonded')
  return (await h.get(session)).body.subject_ref
}

/** The id of a quorum that does not exist. */
export const NO_QUORUM = { quorum_id: `quo_${'0'.repeat(22)}` }
/** The body of a create of a quorum. The tenants of most tests have no workflow with an inbox. */
export const QUORUM = {
  context: { display: [{ label: 'Amount', value: '1' }] },
  subject_refs: ['a'.repeat(43), 'b'.repeat(43)],
  needed: 2,
  maker_ref: null,
}

/** The path of an endpoint, with what it names. */
export function pathOf({ path }: Endpoint, names: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => names[name] ?? '')
}

type Body = Readonly<Record<string, unknown>>

/**
 * A session, a phone, and a valid body for every endpoint that takes one, from which a test derives
 * invalid requests. The endpoints require all members of these bodies, except the `app_attest` of
 * evidence.
 */
export async function validRequests(h: Harness) {
  const session = await h.create()
  const phone = await h.register()
  const page = await h.register(undefined, webauthnKey('unattested'))
  const view = {
    ...session,
    tenant_name: '',
    requesting_origin: null,
    created_at: session.server_time,
  }
  const { challenge } = (await h.api('POST', '/devices/challenges')).body
  const { verified_evidence } = (await h.evidence(phone, view)).body
  const { device_id } = phone
  const { nonce } = session
  const ids = {
    session_id: session.id,
    device_id,
    subject_ref: await knownSubject(h),
    ...NO_QUORUM,
    ...(await webhookEvent(h)),
  }
  const bodies: Partial<Record<EndpointName, Body>> = {
    createSession: { workflow: 'credit_application', action: 'submit_application' },
    createQuorum: QUORUM,
    proveBrowser: BROWSER_PROOF,
    openBrowserFrame: { parent_origin: SHOP_ORIGIN },
    reportContainment: { verdict: 'unverified', breaches: ['covered'] },
    claimSession: { nonce, device_id },
    declineSession: { nonce, device_id, reason: 'user_declined' },
    fetchEvidence: evidenceRequest(phone, view, carriedSignals(h.clock.now()), h.now()),
    attest: { ...attestation(phone, view, verified_evidence, h.now()) },
    rotateDeviceToken: tokenRequest(phone, h.now(), { origin: PUBLIC_ORIGIN }),
    registerDevice: { format: 'software', challenge, public_key: newKey().public_key },
    recoverDevice: recoveryRequest(page, challenge, { origin: PUBLIC_ORIGIN }),
    // Signed for another origin: valid in shape, but it must not remove the phone.
    removeDevice: removalRequest(phone, device_id, h.now(), { origin: 'https://x.example' }),
    createWebhookEndpoint: { url: 'https://hooks.example/' },
    updateWebhookEndpoint: { url: 'https://hooks.example/' },
    recoverWebhookEndpoint: { since: h.now() },
    retryWebhookEvent: { endpoint_id: ids.endpoint_id },
  }
  const tokens = { phone: phone.device_token, backend: h.shop.server, browser: h.shop.publishable }

  /** The credential of a caller that the endpoint accepts. */
  const tokenFor = ({ callers }: Endpoint) => {
    const caller = (['phone', 'backend', 'browser'] as const).find((kind) => callers.includes(kind))
    return caller && tokens[caller]
  }
  /** Calls an endpoint as a caller that it accepts, without a body unless `raw` is given. */
  const send = (
    name: EndpointName,
    given: {
      readonly path?: string
      readonly raw?: string | Buffer
      readonly headers?: Readonly<Record<string, string>>
    } = {},
  ): Promise<Reply> => {
    const endpoint: Endpoint = ENDPOINTS[name]
    const { path = pathOf(endpoint, ids), raw, headers } = given
    const token = tokenFor(endpoint)
    const origin = token === tokens.browser ? { origin: SHOP_ORIGIN } : {}
    return h.call(endpoint.method, path, {
      token,
      ...(raw === undefined ? {} : { raw }),
      headers: { ...origin, ...headers },
    })
  }
  return { session, bodies, pathOf: (endpoint: Endpoint) => pathOf(endpoint, ids), tokenFor, send }
}
