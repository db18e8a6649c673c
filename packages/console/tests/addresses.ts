import assert from 'node:assert/strict'
import type {
  DeviceId,
  EventId,
  SessionId,
  SubjectId,
  TenantId,
  WebhookEndpointId,
} from '@bonded/contract'
import { listKeys } from '@bonded/core/operations/admin/keys'
import { createEndpoint, listDeliveries } from '@bonded/core/operations/admin/webhooks'
import type { Harness } from '../../../tests/harness/harness.ts'

/** What addresses name, by its name in the paths of the routes. */
export type Names = {
  readonly tenant: TenantId
  readonly session: SessionId
  readonly device: DeviceId
  readonly subject: SubjectId
  readonly subject_ref: string
  readonly event: EventId
  readonly endpoint: WebhookEndpointId
  readonly key: string
  readonly since: string
}

/** A bond with its receipt, its user, and its event, and the tenant of all of them. */
export async function namesIn(h: Harness): Promise<Names> {
  const tenantId = h.shop.tenant.id
  const url = 'https://hooks.example/'
  const { endpoint } = await createEndpoint(h.service, {
    tenantId,
    url,
    events: null,
    scheme: 'v1',
  })
  const { session, phone } = await h.reach('bonded')
  const receipt = await h.api('GET', `/sessions/${session.id}/receipt`, { token: h.shop.server })
  assert.equal(receipt.status, 200, receipt.text)
  const { deliveries } = await listDeliveries(h.service, { tenantId, limit: 1 })
  const [delivery] = deliveries
  const [key] = await listKeys(h.service, tenantId)
  assert.ok(delivery !== undefined && key !== undefined)
  return {
    tenant: tenantId,
    session: session.id as SessionId,
    device: phone.device_id as DeviceId,
    subject: phone.subject_id as SubjectId,
    subject_ref: (await h.get(session)).body.subject_ref,
    event: delivery.eventId,
    endpoint: endpoint.id,
    key: key.key,
    since: '24h',
  }
}

/** The query of the pages that have no part of a path for what they are about. */
const QUERIES: Readonly<Record<string, readonly string[]>> = {
  '/receipt': ['session'],
  '/user': ['tenant', 'subject_ref'],
  '/sessions': ['tenant', 'subject_ref'],
}

/** The address of a route. */
export function addressOf(path: string, names: Readonly<Record<string, string>>): string {
  const filled = path.replaceAll(/:(\w+)/g, (_part, name: string) => names[name] ?? '')
  const query = new URLSearchParams()
  for (const name of QUERIES[path] ?? []) query.set(name, names[name] ?? '')
  return query.size === 0 ? filled : `${filled}?${query.toString()}`
}
