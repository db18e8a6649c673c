import { BODY_LIMITS } from './body-limits.ts'
import { define } from './endpoint.ts'
import { closed, id } from './schemas/primitives.ts'
import {
  CreateWebhookEndpointRequest,
  RecoverWebhookEndpointRequest,
  RetryWebhookRequest,
  UpdateWebhookEndpointRequest,
  WebhookDeliveryList,
  WebhookDeliveryQuery,
  WebhookEndpointList,
  WebhookEndpointRecord,
  WebhookEndpointWithSecret,
  WebhookEventLog,
  WebhookPortalLink,
  WebhooksDue,
  WebhookTestEvent,
} from './schemas/webhook.ts'

/** The ids that a path about webhooks can name, each with its prefix. */
export const WEBHOOK_PATH_IDS = { endpoint_id: 'we', event_id: 'evt' } as const
const endpoint = closed({ endpoint_id: id(WEBHOOK_PATH_IDS.endpoint_id) })
const event = closed({ event_id: id(WEBHOOK_PATH_IDS.event_id) })

const ENDPOINTS_PATH = '/api/v1/webhook-endpoints'
const DELIVERIES_PATH = '/api/v1/webhook-deliveries'

const backend = {
  callers: ['backend'],
  ownOriginOnly: true,
  limits: ['webhook'],
  priority: 'new',
} as const
/** What the portal may do, too. It changes no endpoint and reads no secret. */
const portal = { ...backend, callers: ['backend', 'portal'] } as const
/** What a caller reads is cheap; the rest changes rows, or sends something. */
const portalReads = { ...portal, limits: ['backend', 'portal'] } as const

/** The endpoints of the API for webhooks: a tenant's own endpoints and deliveries. */
export const WEBHOOK_ENDPOINTS = {
  listWebhookEndpoints: define({
    ...portalReads,
    method: 'GET',
    path: ENDPOINTS_PATH,
    summary: 'Lists the webhook endpoints of the tenant.',
    responses: { endpoints: WebhookEndpointList },
    rejections: ['unscoped_credential_required'],
  }),
  createWebhookEndpoint: define({
    ...backend,
    method: 'POST',
    path: ENDPOINTS_PATH,
    status: 201,
    // The secret is in the lost response. List the endpoints, and rotate the secret of the new one.
    retry: 'rebuild',
    summary: 'Creates a webhook endpoint. The secret is in this response only.',
    body: { schema: CreateWebhookEndpointRequest, limitBytes: BODY_LIMITS.webhook },
    responses: { created: WebhookEndpointWithSecret },
    rejections: [
      'webhook_url_invalid',
      'too_many_webhook_endpoints',
      'unscoped_credential_required',
    ],
  }),
  updateWebhookEndpoint: define({
    ...backend,
    method: 'POST',
    path: `${ENDPOINTS_PATH}/{endpoint_id}`,
    retry: 'repeat',
    summary:
      'Changes the URL, the events, or the log of a webhook endpoint, or disables or enables it.',
    params: endpoint,
    body: { schema: UpdateWebhookEndpointRequest, optional: true, limitBytes: BODY_LIMITS.webhook },
    responses: { endpoint: WebhookEndpointRecord },
    rejections: [
      'webhook_url_invalid',
      'webhook_endpoint_not_found',
      'unscoped_credential_required',
    ],
  }),
  deleteWebhookEndpoint: define({
    ...backend,
    method: 'DELETE',
    path: `${ENDPOINTS_PATH}/{endpoint_id}`,
    status: 204,
    retry: 'reread',
    summary: 'Deletes a webhook endpoint and its deliveries.',
    params: endpoint,
    rejections: ['webhook_endpoint_not_found', 'unscoped_credential_required'],
  }),
  rotateWebhookSecret: define({
    ...backend,
    method: 'POST',
    path: `${ENDPOINTS_PATH}/{endpoint_id}/secret`,
    status: 201,
    // The secret is in the lost response. The former ones sign beside each new one for 24 hours.
    retry: 'rebuild',
    summary: 'Replaces the secret. The former one signs beside it for 24 hours.',
    params: endpoint,
    responses: { rotated: WebhookEndpointWithSecret },
    rejections: ['webhook_endpoint_not_found', 'unscoped_credential_required'],
  }),
  testWebhookEndpoint: define({
    ...backend,
    method: 'POST',
    path: `${ENDPOINTS_PATH}/{endpoint_id}/test`,
    status: 201,
    retry: 'repeat',
    summary: 'Sends a `webhook.test` event to the endpoint.',
    params: endpoint,
    responses: { test: WebhookTestEvent },
    rejections: ['webhook_endpoint_not_found', 'unscoped_credential_required'],
  }),
  recoverWebhookEndpoint: define({
    ...portal,
    method: 'POST',
    path: `${ENDPOINTS_PATH}/{endpoint_id}/recovery`,
    retry: 'repeat',
    summary: 'Sends again every event since a time that failed, or was held.',
    params: endpoint,
    body: { schema: RecoverWebhookEndpointRequest, limitBytes: BODY_LIMITS.claim },
    responses: { due: WebhooksDue },
    rejections: ['webhook_endpoint_not_found', 'unscoped_credential_required'],
  }),
  listWebhookDeliveries: define({
    ...portalReads,
    method: 'GET',
    path: DELIVERIES_PATH,
    summary: 'Lists the deliveries, newest first.',
    query: WebhookDeliveryQuery,
    responses: { deliveries: WebhookDeliveryList },
    rejections: ['unscoped_credential_required'],
  }),
  readWebhookEvent: define({
    ...portalReads,
    method: 'GET',
    path: `${DELIVERIES_PATH}/{event_id}`,
    summary: 'Returns the deliveries of an event, with its payload and every attempt.',
    params: event,
    responses: { log: WebhookEventLog },
    rejections: ['webhook_event_not_found', 'unscoped_credential_required'],
  }),
  retryWebhookEvent: define({
    ...portal,
    method: 'POST',
    path: `${DELIVERIES_PATH}/{event_id}/retry`,
    retry: 'repeat',
    summary: 'Sends an event again, to one endpoint or to all that have it.',
    params: event,
    body: { schema: RetryWebhookRequest, optional: true, limitBytes: BODY_LIMITS.claim },
    responses: { due: WebhooksDue },
    rejections: ['webhook_event_not_found', 'unscoped_credential_required'],
  }),
  openWebhookPortal: define({
    ...backend,
    method: 'POST',
    path: '/api/v1/webhook-portal',
    status: 201,
    retry: 'repeat',
    summary: 'Returns a link that opens the portal of webhooks for ten minutes.',
    responses: { link: WebhookPortalLink },
    rejections: ['unscoped_credential_required'],
  }),
} as const
