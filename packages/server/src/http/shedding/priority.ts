import { ENDPOINTS, type Endpoint, type EndpointName } from '@bonded/contract'
import { SHED_PRIORITIES, type ShedPriority } from '@bonded/core/ports/meter'
import type { IncomingHttpHeaders } from 'node:http'

/**
 * What a request is worth during an overload, the most valuable first. The service rejects the last
 * kind first: a status read is repeated anyway, and a create only adds work. A gate read, an
 * attestation, and a completion belong to a user who has already begun, in this order of progress.
 */
export const PRIORITIES = SHED_PRIORITIES
export type Priority = ShedPriority

/** The kind of credential that a request presents, before the service has verified it. */
export type Presented = 'backend' | 'browser' | 'phone' | 'none'

/** `exempt`: probes of the process itself, which must work during an overload. */
type Rule = Priority | 'exempt' | Readonly<Record<Presented, Priority>>

const RULES: Readonly<Record<EndpointName, Rule>> = {
  completeSession: 'completion',
  deleteSession: 'completion',
  claimSession: 'attestation',
  declineSession: 'attestation',
  cancelSession: 'attestation',
  proveBrowser: 'attestation',
  openBrowserFrame: 'attestation',
  fetchEvidence: 'attestation',
  attest: 'attestation',
  rotateDeviceToken: 'attestation',
  removeDevice: 'attestation',
  // A phone reads the session before the user decides. A backend reads it before it acts.
  getSession: { backend: 'gate', phone: 'attestation', browser: 'status', none: 'status' },
  createSession: 'create',
  readInvitation: 'create',
  challengeDevice: 'create',
  registerDevice: 'create',
  recoverDevice: 'create',
  readTimeline: 'status',
  readReceipt: 'status',
  reportContainment: 'status',
  checkPublishableKey: 'status',
  listKeys: 'status',
  getDevice: 'status',
  listWebhookEndpoints: 'status',
  createWebhookEndpoint: 'status',
  updateWebhookEndpoint: 'status',
  deleteWebhookEndpoint: 'status',
  rotateWebhookSecret: 'status',
  testWebhookEndpoint: 'status',
  recoverWebhookEndpoint: 'status',
  listWebhookDeliveries: 'status',
  readWebhookEvent: 'status',
  retryWebhookEvent: 'status',
  openWebhookPortal: 'status',
  readOpenApi: 'status',
  version: 'status',
  alive: 'exempt',
  ready: 'exempt',
}

const WILDCARD = '*'
const BY_PATH = new Map<string, { readonly name: EndpointName; readonly rule: Rule }>(
  (Object.entries(ENDPOINTS) as [EndpointName, Endpoint][]).map(([name, { method, path }]) => [
    `${method} ${path.replaceAll(/\{\w+\}/g, WILDCARD)}`,
    { name, rule: RULES[name] },
  ]),
)
/** The position of an id in `/api/v1/sessions/{id}/…`, split at its slashes. */
const ID_SEGMENT = 4
/** One more segment than the longest path has, so that no longer path equals one of the table. */
const MAX_SEGMENTS = 8

/** What the request line and the credential's form reveal about a request. */
export interface Classified {
  readonly priority: Priority | 'exempt'
  readonly presented: Presented
  /** Undefined for pages, scripts, and paths that do not exist. */
  readonly endpoint: EndpointName | undefined
  /** The id in the path, unverified; empty without one. */
  readonly id: string
}

/** Classifies a request by its request line and the form of its credential. Reads no body. */
export function classify(request: {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: IncomingHttpHeaders
}): Classified {
  const { url = '', headers } = request
  // A preflight is worth as much as the request that it precedes.
  const method = headers['access-control-request-method'] ?? request.method ?? ''
  const query = url.indexOf('?')
  const path = query < 0 ? url : url.slice(0, query)
  const presented = presentedBy(headers.authorization)
  const literal = BY_PATH.get(`${method} ${path}`)
  if (literal !== undefined) return classified(literal, presented, '')
  const segments = path.split('/', MAX_SEGMENTS)
  const id = segments[ID_SEGMENT] ?? ''
  if (id !== '') segments[ID_SEGMENT] = WILDCARD
  return classified(BY_PATH.get(`${method} ${segments.join('/')}`), presented, id)
}

function classified(
  found: { readonly name: EndpointName; readonly rule: Rule } | undefined,
  presented: Presented,
  id: string,
): Classified {
  const rule = found?.rule ?? 'status'
  const priority = typeof rule === 'string' ? rule : rule[presented]
  return { priority, presented, endpoint: found?.name, id }
}

function presentedBy(authorization: string | undefined): Presented {
  if (authorization === undefined) return 'none'
  if (authorization.startsWith('Bearer sk_')) return 'backend'
  if (authorization.startsWith('Bearer pk_')) return 'browser'
  return authorization.startsWith('Bearer dt_') ? 'phone' : 'none'
}
