import { guides } from './guide.ts'

/** The guides of the reasons of webhooks. */
export const WEBHOOK_REASON_GUIDES = {
  ...guides('corrected', {
    webhook_url_invalid: [
      'The URL is not https, names another port, an address inside a network, or a host that the operator reserves. The message says which.',
      'Use a URL on port 443 of a public host. The operator registers other hosts: see [Webhooks](../../guides/webhooks.md#targets).',
    ],
  }),
  ...guides('no', {
    too_many_webhook_endpoints: [
      'Endpoints of earlier deployments were not deleted.',
      'List the endpoints with `GET /webhook-endpoints`, and delete those without a receiver.',
    ],
    webhook_endpoint_not_found: [
      'The endpoint was deleted, or belongs to another tenant.',
      'List the endpoints with `GET /webhook-endpoints`.',
    ],
    webhook_event_not_found: [
      'The event is older than the retention, belongs to another tenant, or its endpoint was deleted or never received it.',
      'List the deliveries with `GET /webhook-deliveries`.',
    ],
  }),
}
