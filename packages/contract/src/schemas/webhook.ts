import { EVENT_TYPES } from '../events.ts'
import { closed, GivenTime, id, nullable, Timestamp, word } from './primitives.ts'
import { type Static, Type } from './type.ts'

const Url = Type.String({ minLength: 1, maxLength: 2_048 })
const Events = Type.Array(word(EVENT_TYPES), { minItems: 1, maxItems: EVENT_TYPES.length })
const Scheme = word(['v1', 'v1a'])

/** The states of a delivery. `held`: its endpoint was disabled. */
export const DELIVERY_STATES = ['pending', 'delivered', 'failed', 'held'] as const
/** Why an attempt got no response. */
export const ATTEMPT_ERRORS = [
  'address_rejected',
  'name_not_found',
  'not_reachable',
  'intermediate_missing',
  'certificate_expired',
  'certificate_of_other_name',
  'certificate_untrusted',
  'client_certificate_required',
  'tls_failed',
  'timed_out',
  'closed_early',
  'service_failed',
  'secret_unavailable',
] as const

/**
 * How many characters of a response the log of deliveries keeps. The usual ones name an error; what
 * follows is often a dump of a request or a setting. The service reads no more than `max` bytes.
 */
export const LOGGED_CHARACTERS = { usual: 80, max: 1_024 } as const
const LoggedCharacters = Type.Integer({
  minimum: 0,
  maximum: LOGGED_CHARACTERS.max,
  description: `How many characters of a response the log of deliveries keeps, after it has removed what looks like a credential. By default ${LOGGED_CHARACTERS.usual}.`,
})

const endpointMembers = {
  endpoint_id: id('we'),
  url: Url,
  events: nullable(Events),
  scheme: Scheme,
  logged_characters: LoggedCharacters,
  enabled: Type.Boolean(),
  disabled_reason: nullable(word(['gone', 'operator', 'tenant'])),
  failures: Type.Integer({ minimum: 0, description: 'Failed attempts in a row.' }),
  paused_until: nullable(Timestamp),
  previous_secret_until: nullable(Timestamp),
  created_at: Timestamp,
}

/** A URL of a tenant that receives events. `events` is null for all. */
export const WebhookEndpointRecord = closed(endpointMembers)
export type WebhookEndpointRecord = Static<typeof WebhookEndpointRecord>

export const WebhookEndpointList = closed({
  tenant_name: Type.Optional(
    Type.String({ description: 'The tenant, in the response to its portal.' }),
  ),
  endpoints: Type.Array(WebhookEndpointRecord),
})
export type WebhookEndpointList = Static<typeof WebhookEndpointList>

/** An endpoint with a new secret, which no other response contains. */
export const WebhookEndpointWithSecret = closed({
  ...endpointMembers,
  secret: nullable(
    Type.String({ description: 'Verifies signatures. Shown once; null with `v1a`.' }),
  ),
  public_key: nullable(Type.String({ description: 'Verifies signatures of `v1a`; else null.' })),
})
export type WebhookEndpointWithSecret = Static<typeof WebhookEndpointWithSecret>

export const CreateWebhookEndpointRequest = closed({
  url: Url,
  events: Type.Optional(Events),
  scheme: Type.Optional(Scheme),
  logged_characters: Type.Optional(LoggedCharacters),
})

/** What to change. `events: null` selects all events. */
export const UpdateWebhookEndpointRequest = closed({
  url: Type.Optional(Url),
  events: Type.Optional(nullable(Events)),
  enabled: Type.Optional(Type.Boolean()),
  logged_characters: Type.Optional(LoggedCharacters),
})

export const RecoverWebhookEndpointRequest = closed({ since: GivenTime })
export const RetryWebhookRequest = closed({ endpoint_id: Type.Optional(id('we')) })
/** How many deliveries are due now. */
export const WebhooksDue = closed({ deliveries: Type.Integer({ minimum: 0 }) })
export const WebhookTestEvent = closed({ event_id: id('evt') })

/** A link that opens the portal of webhooks. */
export const WebhookPortalLink = closed({
  url: Type.String({ description: 'Open it in a browser. The token is in its fragment.' }),
  expires_at: Timestamp,
})

const deliveryMembers = {
  event_id: id('evt'),
  endpoint_id: id('we'),
  type: word(EVENT_TYPES),
  state: word(DELIVERY_STATES),
  attempts: Type.Integer({ minimum: 0 }),
  next_attempt_at: nullable(Timestamp),
  created_at: Timestamp,
}

/** A page of deliveries, newest first. */
export const WebhookDeliveryList = closed({
  deliveries: Type.Array(closed(deliveryMembers)),
  next: nullable(
    Type.String({
      description:
        '`before` of the next page; null on the last one. With filters a page can have fewer deliveries than `limit`, or none.',
    }),
  ),
})
export type WebhookDeliveryList = Static<typeof WebhookDeliveryList>

/** The deliveries of one event, one for each endpoint, with their attempts, the oldest first. */
export const WebhookEventLog = closed({
  deliveries: Type.Array(
    closed({
      ...deliveryMembers,
      payload: Type.String({ description: 'The body, as every attempt sends it.' }),
      log: Type.Array(
        closed({
          at: Timestamp,
          ms: Type.Integer({ minimum: 0 }),
          status: nullable(Type.Integer()),
          body: nullable(
            Type.String({ description: 'The beginning of the response, without credentials.' }),
          ),
          error: nullable(word(ATTEMPT_ERRORS)),
        }),
      ),
    }),
  ),
})
export type WebhookEventLog = Static<typeof WebhookEventLog>

/** The cursor of a page: the last delivery of the page before. */
export const DELIVERY_CURSOR = /^(evt_[0-9A-Za-z]{22})\.(we_[0-9A-Za-z]{22})$/
export const WebhookDeliveryQuery = Type.Object({
  state: Type.Optional(word(DELIVERY_STATES)),
  type: Type.Optional(word(EVENT_TYPES)),
  endpoint_id: Type.Optional(id('we')),
  before: Type.Optional(Type.String({ pattern: DELIVERY_CURSOR.source })),
  limit: Type.Optional(
    Type.String({ pattern: '^([1-9]|[1-9]\\d|100)$', description: 'At most 100; by default 50.' }),
  ),
})
