import type { Reason } from '@bonded/contract'
import type { ReasonGuide } from './guide.ts'

/** The guides of the reasons of webhooks. */
export const WEBHOOK_REASON_GUIDES = {
  webhook_url_invalid: {
    retry: 'corrected',
    cause:
      'The URL is not https, names another port, an address inside a network, or a host that the operator reserves. The message says which.',
    remedy:
      'Use a URL on port 443 of a public host. The operator registers other hosts: see [Webhooks](../../guides/webhooks.md#targets).',
  },
  too_many_webhook_endpoints: {
    retry: 'no',
    cause: 'Endpoints of earlier deployments were not deleted.',
    remedy:
      'List the endpoints with `GET /webhook-endpoints`, and delete those without a receiver.',
  },
  webhook_endpoint_not_found: {
    retry: 'no',
    cause: 'The endpoint was deleted, or belongs to another tenant.',
    remedy: 'List the endpoints with `GET /webhook-endpoints`.',
  },
  webhook_event_not_found: {
    retry: 'no',
    cause:
      'The event is older than the retention, belongs to another tenant, or its endpoint was deleted or never received it.',
    remedy: 'List the deliveries with `GET /webhook-deliveries`.',
  },
} as const satisfies Partial<Record<Reason, ReasonGuide>>
