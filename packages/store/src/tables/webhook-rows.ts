import type { EventType } from '@bonded/contract'
import type { Attempt } from '@bonded/core/domain/webhooks'
import type { WebhookDelivery, WebhookEndpoint } from '@bonded/core/ports/tables/webhook-table'
import type { Row } from '../statement.ts'
import { columnNames } from '../personal-data.ts'
import { recordReader } from './record.ts'

const readEndpoint = recordReader<WebhookEndpoint>(columnNames('webhook_endpoint'), {
  secrets: 'sealedSecrets',
  last_attempt_at: null,
})
const readDelivery = recordReader<WebhookDelivery>(columnNames('webhook_delivery'), {
  session_id: null,
})

export function endpointFromRow(found: Row): WebhookEndpoint {
  const events = found.events === null ? null : (JSON.parse(String(found.events)) as EventType[])
  return { ...readEndpoint(found), events }
}

export function deliveryFromRow(found: Row): WebhookDelivery {
  return { ...readDelivery(found), history: JSON.parse(String(found.history)) as Attempt[] }
}

export function instant(value: Row[string] | undefined): number | null {
  return value === null || value === undefined ? null : Number(value)
}
