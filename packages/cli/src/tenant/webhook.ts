import {
  EVENT_TYPES,
  type EventId,
  type EventType,
  LOGGED_CHARACTERS,
  type WebhookEndpointId,
} from '@bonded/contract'
import { Command, InvalidArgumentError, Option } from 'commander'
import type { DeliveryState } from '@bonded/core/domain/webhooks'
import {
  createEndpoint,
  type EndpointWithVerifier,
  inspectEvent,
  listDeliveries,
  listEndpoints,
  recoverEndpoint,
  removeEndpoint,
  retryEvent,
  rotateEndpoint,
  testEndpoint,
  updateEndpoint,
} from '@bonded/core/operations/admin/webhooks'
import type {
  WebhookDelivery,
  WebhookEndpoint,
  WebhookOwner,
} from '@bonded/core/ports/tables/webhook-table'
import {
  endpointArgument,
  eventArgument,
  limitOption,
  ownerArgument,
  parseEndpointId,
  wholeNumber,
} from '../program/arguments.ts'
import { parseDuration } from '../program/duration.ts'
import { type Options, withService } from '../program/open.ts'
import { fields, isoTime, print, printOnce, table } from '../program/output.ts'

const STATES: readonly DeliveryState[] = ['pending', 'delivered', 'failed', 'held']

/** `bonded webhook`: the endpoints of tenants, and the log of their deliveries. */
export function webhookCommand(): Command {
  const command = new Command('webhook').description('Manage webhook endpoints and deliveries')
  addEndpointCommands(command)
  addSecretCommands(command)
  addLogCommands(command)
  addRetryCommands(command)
  return command
}

function addEndpointCommands(command: Command): void {
  command
    .command('create')
    .description('Create an endpoint; its secret is shown once')
    .addArgument(ownerArgument())
    .requiredOption('--url <url>', 'An https URL on port 443 of a public host')
    .addOption(eventOption())
    .addOption(
      new Option('--scheme <scheme>', 'v1 signs with HMAC-SHA256, v1a with Ed25519')
        .choices(['v1', 'v1a'])
        .default('v1'),
    )
    .addOption(loggedCharactersOption())
    .action(async (tenantId: WebhookOwner, options: Options & Choice & NewOptions) => {
      const { url, scheme, event, loggedCharacters } = options
      const events = chosen(event) ?? null
      await withService(options, async (service) => {
        const given = { tenantId, url, events, scheme, loggedCharacters }
        const created = await createEndpoint(service, given)
        await printOnce(
          () => printVerifier(options, created),
          async () => {
            await removeEndpoint(service, created.endpoint.id)
            return 'The endpoint is deleted, because its secret was not shown. Create it again'
          },
        )
      })
    })
  command
    .command('list')
    .description('List the endpoints of a tenant')
    .addArgument(ownerArgument())
    .action(async (id: WebhookOwner, options: Options) => {
      const endpoints = await withService(options, (service) => listEndpoints(service, id))
      const documents = endpoints.map(describeEndpoint)
      const names = ['endpoint_id', 'url', 'events', 'failures', 'disabled_at'] as const
      print(options, documents, table(names, documents, 'No endpoints.'))
    })
  command
    .command('update')
    .description('Change an endpoint')
    .addArgument(endpointArgument())
    .option('--url <url>', 'An https URL on port 443 of a public host')
    .addOption(eventOption())
    .option('--enable', 'Send again; use recover for what was held')
    .option('--disable', 'Hold its events')
    .addOption(loggedCharactersOption())
    .action(async (id: WebhookEndpointId, options: Options & Choice & ChangeOptions) => {
      const { url, event, enable, disable, loggedCharacters } = options
      const enabled = enable === true ? true : disable === true ? false : undefined
      const endpoint = await withService(options, (service) =>
        updateEndpoint(service, id, { url, events: chosen(event), enabled, loggedCharacters }),
      )
      const document = describeEndpoint(endpoint)
      print(options, document, fields(document))
    })
  command
    .command('delete')
    .description('Delete an endpoint and its deliveries')
    .addArgument(endpointArgument())
    .action(async (id: WebhookEndpointId, options: Options) => {
      await withService(options, (service) => removeEndpoint(service, id))
      print(options, { deleted: id }, [`Deleted ${id}.`])
    })
}

function addSecretCommands(command: Command): void {
  command
    .command('rotate')
    .description('Replace the secret; the old one signs beside it for 24 hours')
    .addArgument(endpointArgument())
    .action(async (id: WebhookEndpointId, options: Options) => {
      const rotated = await withService(options, (service) => rotateEndpoint(service, id))
      await printOnce(
        () => printVerifier(options, rotated),
        async () => 'Rotate it again: each secret that signed before still signs for 24 hours',
      )
    })
  command
    .command('test')
    .description('Send a test event to an endpoint; the running service sends it')
    .addArgument(endpointArgument())
    .action(async (id: WebhookEndpointId, options: Options) => {
      const event_id = await withService(options, (service) => testEndpoint(service, id))
      print(options, { event_id }, [
        `Sending ${event_id}. Run "bonded webhook delivery ${event_id}" for the result.`,
      ])
    })
}

function addLogCommands(command: Command): void {
  command
    .command('deliveries')
    .description('List the deliveries of a tenant, newest first')
    .addArgument(ownerArgument())
    .addOption(new Option('--state <state>', 'Only in this state').choices(STATES))
    .addOption(limitOption())
    .action(
      async (
        tenantId: WebhookOwner,
        options: Options & { state?: DeliveryState; limit: number },
      ) => {
        const { state, limit } = options
        const { deliveries } = await withService(options, (service) =>
          listDeliveries(service, { tenantId, state, limit }),
        )
        const documents = deliveries.map(describeDelivery)
        const names = [
          'event_id',
          'type',
          'endpoint_id',
          'state',
          'attempts',
          'created_at',
        ] as const
        print(options, documents, table(names, documents, 'No deliveries.'))
      },
    )
  command
    .command('delivery')
    .description('Show the deliveries of an event, with payload and attempts')
    .addArgument(eventArgument())
    .action(async (id: EventId, options: Options) => {
      const deliveries = await withService(options, (service) => inspectEvent(service, id))
      const documents = deliveries.map((delivery) => ({
        ...describeDelivery(delivery),
        payload: JSON.parse(delivery.payload) as unknown,
        log: delivery.history.map(({ at, ...attempt }) => ({ at: isoTime(at), ...attempt })),
      }))
      print(options, documents, documents.flatMap(fields))
    })
}

function addRetryCommands(command: Command): void {
  command
    .command('retry')
    .description('Send an event again')
    .addArgument(eventArgument())
    .addOption(
      new Option('--endpoint <endpoint>', 'Only to this endpoint').argParser(parseEndpointId),
    )
    .action(async (id: EventId, options: Options & { endpoint?: WebhookEndpointId }) => {
      const deliveries = await withService(options, (service) =>
        retryEvent(service, id, options.endpoint),
      )
      print(options, { deliveries }, [`Sending ${deliveries}.`])
    })
  command
    .command('recover')
    .description('Send again what failed or was held since a time')
    .addArgument(endpointArgument())
    .addOption(
      new Option('--since <time>', 'Time before now: 30m, 24h, 7d')
        .argParser(parseDuration)
        .makeOptionMandatory(),
    )
    .action(async (id: WebhookEndpointId, options: Options & { since: number }) => {
      const deliveries = await withService(options, (service) =>
        recoverEndpoint(service, id, service.clock.now() - options.since),
      )
      print(options, { deliveries }, [`Sending ${deliveries}.`])
    })
}

interface Choice {
  readonly event: readonly EventType[]
}
interface NewOptions {
  readonly url: string
  readonly scheme: WebhookEndpoint['scheme']
  readonly loggedCharacters?: number
}
interface ChangeOptions {
  readonly url?: string
  readonly enable?: true
  readonly disable?: true
  readonly loggedCharacters?: number
}

const eventOption = () =>
  new Option('--event <type>', 'Event that it receives; repeatable, all by default')
    .argParser(collectEvent)
    .default([], 'all')

const loggedCharactersOption = () =>
  new Option(
    '--logged-characters <count>',
    `Characters of a response that the log keeps, ${LOGGED_CHARACTERS.max} at most`,
  ).argParser(wholeNumber(LOGGED_CHARACTERS.max, 0))

function collectEvent(text: string, earlier: readonly EventType[]): readonly EventType[] {
  const type = EVENT_TYPES.find((known) => known === text)
  if (type === undefined)
    throw new InvalidArgumentError(`Expected one of ${EVENT_TYPES.join(', ')}.`)
  return [...new Set([...earlier, type])]
}

function chosen(events: readonly EventType[]): readonly EventType[] | undefined {
  return events.length === 0 ? undefined : events
}

function printVerifier(options: Options, { endpoint, verifier }: EndpointWithVerifier): void {
  const isPublic = endpoint.scheme === 'v1a'
  const shown = {
    endpoint_id: endpoint.id,
    [isPublic ? 'public_key' : 'secret']: verifier,
  }
  print(options, { ...describeEndpoint(endpoint), ...shown }, [
    ...fields(shown),
    isPublic
      ? 'The receiver verifies signatures with this public key.'
      : 'Store it in the receiver’s secret store now. It is not shown again.',
  ])
}

function describeEndpoint(endpoint: WebhookEndpoint) {
  return {
    endpoint_id: endpoint.id,
    tenant_id: endpoint.tenantId,
    url: endpoint.url,
    events: endpoint.events ?? 'all',
    scheme: endpoint.scheme,
    logged_characters: endpoint.loggedCharacters,
    previous_secret_until: isoTime(endpoint.previousUntil),
    failures: endpoint.failures,
    paused_until: endpoint.pausedUntil === 0 ? null : isoTime(endpoint.pausedUntil),
    disabled_at: isoTime(endpoint.disabledAt),
    disabled_reason: endpoint.disabledReason,
    created_at: isoTime(endpoint.createdAt),
    ...(endpoint.tenantId === 'operator' && { audit_position: endpoint.auditPosition }),
  }
}

function describeDelivery(delivery: WebhookDelivery) {
  return {
    event_id: delivery.eventId,
    type: delivery.type,
    endpoint_id: delivery.endpointId,
    state: delivery.state,
    attempts: delivery.attempts,
    next_attempt_at: isoTime(delivery.dueAt),
    created_at: isoTime(delivery.createdAt),
  }
}
