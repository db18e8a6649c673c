import {
  AFTER_PREFIX,
  ChallengeFrame,
  CHANNEL_PROTOCOL,
  CLOSE,
  EVENTS,
  type EventType,
  HeartbeatFrame,
  HelloFrame,
  HintFrame,
  idPattern,
  KEY_PREFIX,
  StateFrame,
  WATCH_PREFIX,
  WebhookEvent,
} from '@bonded/contract'
import { ATTEMPT_TIMEOUT_MS } from '../packages/core/src/domain/webhooks.ts'
import { opened } from '../packages/server/src/http/opened-schema.ts'

/** Every frame of the channel, and when the service sends it. */
const FRAMES = {
  hello: { schema: HelloFrame, about: 'The channel opened. Contains the whole session.' },
  challenge: { schema: ChallengeFrame, about: 'The QR code to show has changed.' },
  heartbeat: { schema: HeartbeatFrame, about: 'Nothing has changed.' },
  hint: { schema: HintFrame, about: 'Progress without a change of state.' },
  state: { schema: StateFrame, about: 'The state of the session has changed.' },
}

/** The members of `data` of an event. */
function membersOf(type: EventType): readonly string[] {
  if (type === 'session.waiting') return ['session', 'subject_ref', 'inbox_url']
  if (type === 'session.reported') return ['session', 'advisory']
  if (type.startsWith('session.')) return ['session']
  return type.startsWith('device.') ? ['subject_ref'] : []
}

/** The members that only some events of a type have. */
function optionalOf(type: EventType): readonly string[] {
  if (type === 'session.reported') return ['inbox_paused_until']
  return type.startsWith('device.') ? ['device_ref'] : []
}

/** Generates the AsyncAPI 3 document of the channel and of webhooks from the contract. */
export function asyncApiDocument({ host, version }: { host: string; version: string }): object {
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Bonded Sessions: the channel and webhooks',
      version,
      description:
        'The frames that a page or a phone receives on the channel of a session, and the events that a tenant receives as webhooks. Sections 9 and 13 of the protocol define their meaning.',
      license: { name: 'Apache-2.0' },
    },
    defaultContentType: 'application/json',
    servers: {
      service: {
        host,
        protocol: 'wss',
        description: 'The service. Pages and phones connect to it.',
        security: [{ $ref: '#/components/securitySchemes/watchToken' }],
      },
      receiver: {
        host: 'backend.example',
        protocol: 'https',
        description: 'A tenant’s backend. The service sends webhooks to it, on port 443 only.',
      },
    },
    channels: { session: sessionChannel(), webhooks: webhookChannel() },
    operations: operations(),
    components: {
      messages: { ...frameMessages(), ...eventMessages() },
      schemas: { WebhookEvent: opened(WebhookEvent) },
      securitySchemes: {
        watchToken: {
          type: 'httpApiKey',
          in: 'header',
          name: 'Sec-WebSocket-Protocol',
          description: `The subprotocols \`${CHANNEL_PROTOCOL}\` and \`${WATCH_PREFIX}<watch token>\`. A client can open the \`websocket_url\` of a session without them, because its query has the watch token. A browser can add \`${KEY_PREFIX}<publishable key>\`, and a client that reconnects \`${AFTER_PREFIX}<last seq>\`.`,
        },
      },
    },
  }
}

function sessionChannel(): object {
  const codes = Object.entries(CLOSE).map(([name, code]) => `${code} (${name})`)
  return {
    address: '/sessions/{session_id}',
    title: 'The channel of a session',
    description: `Only the service sends frames. Close codes: ${codes.join(', ')}.`,
    servers: [{ $ref: '#/servers/service' }],
    parameters: {
      session_id: { description: `The id of the session, of the form \`${idPattern('sess')}\`.` },
    },
    messages: refs(Object.keys(FRAMES)),
    bindings: { ws: { method: 'GET', bindingVersion: '0.1.0' } },
  }
}

function webhookChannel(): object {
  return {
    address: null,
    title: 'Webhooks',
    description:
      'The URL of a webhook endpoint, which the tenant registers. Deliveries follow Standard Webhooks. An event arrives at least once, and the order of events is not promised.',
    servers: [{ $ref: '#/servers/receiver' }],
    messages: refs(Object.keys(EVENTS)),
  }
}

function operations(): object {
  return {
    sendFrame: {
      action: 'send',
      channel: { $ref: '#/channels/session' },
      summary: 'The service sends a frame to the page or the phone.',
    },
    sendWebhook: {
      action: 'send',
      channel: { $ref: '#/channels/webhooks' },
      summary: 'The service sends an event to an endpoint of the tenant.',
      description: `A status of 200 to 299 within ${ATTEMPT_TIMEOUT_MS / 1000} s accepts the event. The service sends it again after any other result.`,
      bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
    },
  }
}

function frameMessages(): object {
  return Object.fromEntries(
    Object.entries(FRAMES).map(([name, { schema, about }]) => [
      name,
      { name, summary: about, payload: opened(schema) },
    ]),
  )
}

function eventMessages(): object {
  return Object.fromEntries(
    Object.entries(EVENTS).map(([type, about]) => [
      type,
      { name: type, summary: about, headers: HEADERS, payload: eventPayload(type as EventType) },
    ]),
  )
}

/** The body of every event, with the type and the members of this one. */
function eventPayload(type: EventType): object {
  const required = membersOf(type)
  const absent = Object.keys(WebhookEvent.properties.data.properties)
    .filter((name) => ![...required, ...optionalOf(type)].includes(name))
    .map((name) => [name, false])
  const data = { required, properties: Object.fromEntries(absent) }
  return {
    allOf: [
      { $ref: '#/components/schemas/WebhookEvent' },
      { type: 'object', properties: { type: { const: type }, data } },
    ],
  }
}

/** The headers of Standard Webhooks. */
const HEADERS = {
  type: 'object',
  required: ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
  properties: {
    'webhook-id': { type: 'string', description: 'The same in every attempt.' },
    'webhook-timestamp': {
      type: 'string',
      pattern: '^\\d+$',
      description: 'The time of the attempt, in seconds since the epoch.',
    },
    'webhook-signature': {
      type: 'string',
      description: 'Signatures, separated by spaces: `v1,…` (HMAC-SHA256) or `v1a,…` (Ed25519).',
    },
  },
}

function refs(names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/messages/${name}` }]))
}
