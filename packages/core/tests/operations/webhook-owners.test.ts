import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventId, WebhookEndpointId } from '@bonded/contract'
import type { Result } from '../../src/domain/rejection.ts'
import { sendAudit } from '../../src/operations/audit/send-audit.ts'
import { inspectEvent, retryEvent } from '../../src/operations/webhook/webhook-deliveries.ts'
import * as endpoints from '../../src/operations/webhook/webhook-endpoints.ts'
import { liveSecrets } from '../../src/operations/webhook/send-webhooks.ts'
import type { WebhookEndpoint } from '../../src/ports/tables/webhook-table.ts'
import { CREATED_AT as NOW, TENANT_ID } from '../records.ts'
import { serviceOver } from './stub-service.ts'

/*
 * Webhooks of several owners: what one manages, another one must not, and what a change does not
 * name stays as it is.
 */
const DAY = 24 * 60 * 60_000
const OTHER = 'ten_2' as typeof TENANT_ID
const ID = 'we_1' as WebhookEndpointId
const EVENT = 'evt_1' as EventId

const ENDPOINT = {
  id: ID,
  tenantId: TENANT_ID,
  url: 'https://hook.example/a',
  events: ['session.bonded'],
  scheme: 'v1',
  loggedCharacters: 7,
  sealedSecrets: '["a","b","c"]',
  previousUntil: null,
  createdAt: 1,
  disabledAt: null,
  disabledReason: null,
  failures: 2,
  pausedUntil: 3,
  leasedUntil: 4,
  auditPosition: 5,
} as unknown as WebhookEndpoint

function serviceWith(members: object = {}, others: readonly object[] = []) {
  const calls: unknown[][] = []
  const note =
    (name: string) =>
    (...given: unknown[]) =>
      void calls.push([name, ...given])
  const delivery = (tenantId: string, endpointId: string) => ({ tenantId, endpointId })
  const service = serviceOver(
    {
      tenants: { setNotifies: note('setNotifies') },
      webhooks: {
        findEndpoint: (id: string) => (id === ID ? { ...ENDPOINT, ...members } : undefined),
        endpoints: () => others,
        addEndpoint: note('add'),
        updateEndpoint: note('update'),
        removeEndpoint: note('remove'),
        add: note('event'),
        retry: note('retry'),
        deliveriesOf: (id: string) =>
          id === EVENT
            ? [delivery(TENANT_ID, 'we_1'), delivery(OTHER, 'we_2'), delivery(TENANT_ID, 'we_3')]
            : [],
      },
    },
    {
      random: { id: () => new Uint8Array(16) },
      webhooks: {
        urlProblem: (url: string, owner: string) => (url.includes(owner) ? 'it is bad' : undefined),
        newSecret: (scheme: string) => ({
          secret: `new ${scheme}`,
          verifier: `verifier ${scheme}`,
        }),
      },
      keys: {
        sealWebhook: (text: string, id: string) => `${id} ${text}`,
        openWebhook: (text: string) => text,
      },
    },
  )
  return { service, calls }
}
const reasonOf = (result: Result<unknown>) => (result.ok ? 'ok' : result.rejection.reason)

test('an endpoint is managed by its tenant and the operator, and reads as unknown to others', async () => {
  for (const [by, id, reason] of [
    [TENANT_ID, ID, 'ok'],
    ['operator', ID, 'ok'],
    [OTHER, ID, 'webhook_endpoint_not_found'],
    ['operator', 'we_9', 'webhook_endpoint_not_found'],
    ['operator', undefined, 'webhook_endpoint_not_found'],
  ] as const) {
    const { service, calls } = serviceWith()
    const named = id as typeof ID | undefined
    const found = [
      await endpoints.updateEndpoint(service, named, { by }),
      await endpoints.rotateEndpoint(service, named, by),
      await endpoints.testEndpoint(service, named, by),
      await endpoints.removeEndpoint(service, named, by),
    ].map(reasonOf)
    assert.deepEqual(found, [reason, reason, reason, reason], `${by} ${id}`)
    if (reason !== 'ok') assert.deepEqual(calls, [])
  }
})

test('a change of an endpoint replaces what it names, and keeps the rest', async () => {
  const update = async (
    change: endpoints.EndpointChange,
    members = {},
    by: 'operator' | typeof TENANT_ID = TENANT_ID,
  ) => {
    const { service, calls } = serviceWith(members)
    const result = await endpoints.updateEndpoint(service, ID, { ...change, by })
    const changed = (result.ok ? result.value : assert.fail()) as object
    assert.deepEqual(calls, [['update', changed]])
    const before = { ...ENDPOINT, ...members } as Record<string, unknown>
    return Object.fromEntries(
      Object.entries(changed).filter(([name, value]) => before[name] !== value),
    )
  }
  assert.deepEqual(await update({}), {})
  assert.deepEqual(await update({ url: 'https://b.example/' }), { url: 'https://b.example/' })
  assert.deepEqual(await update({ events: null }), { events: null })
  assert.deepEqual(await update({ loggedCharacters: 0 }), { loggedCharacters: 0 })
  const off = { enabled: false }
  assert.deepEqual(await update(off), { disabledAt: NOW, disabledReason: 'tenant' })
  assert.deepEqual(await update(off, {}, 'operator'), {
    disabledAt: NOW,
    disabledReason: 'operator',
  })
  const gone = { disabledAt: 9, disabledReason: 'gone' }
  assert.deepEqual([await update(off, gone), await update({}, gone)], [{}, {}])
  assert.deepEqual(await update({ enabled: true }, gone), {
    disabledAt: null,
    disabledReason: null,
  })
  const { service } = serviceWith()
  for (const by of ['operator', TENANT_ID] as const) {
    const url = `https://${by === 'operator' ? 'operator' : 'tenant'}.example`
    const rejected = await endpoints.updateEndpoint(service, ID, { url, by })
    assert.deepEqual(rejected.ok || rejected.rejection, {
      reason: 'webhook_url_invalid',
      param: 'url',
      detail: 'Here it is bad.',
    })
  }
})

test('a new endpoint is active, keeps 80 characters of a response, and is one of ten', async () => {
  const given = {
    tenantId: TENANT_ID,
    url: 'https://a.example',
    events: null,
    scheme: 'v1',
  } as const
  const { service, calls } = serviceWith(
    {},
    Array.from({ length: 9 }, () => ({})),
  )
  const made = await endpoints.createEndpoint(service, given, TENANT_ID)
  const { endpoint, verifier } = made.ok ? made.value : assert.fail()
  const { id, sealedSecrets, ...rest } = endpoint
  assert.deepEqual(rest, {
    ...given,
    loggedCharacters: 80,
    previousUntil: null,
    createdAt: NOW,
    disabledAt: null,
    disabledReason: null,
    failures: 0,
    pausedUntil: 0,
    leasedUntil: 0,
    auditPosition: 0,
  })
  assert.deepEqual([verifier, sealedSecrets], ['verifier v1', `${id} ["new v1"]`])
  assert.deepEqual(calls, [
    ['setNotifies', TENANT_ID, true],
    ['add', endpoint],
  ])
  const full = serviceWith(
    {},
    Array.from({ length: 10 }, () => ({})),
  )
  const eleventh = await endpoints.createEndpoint(full.service, given, TENANT_ID)
  assert.equal(reasonOf(eleventh), 'too_many_webhook_endpoints')
})

test('a rotated secret signs beside the new one for a day, and three sign at most', async () => {
  const rotate = async (members: object) => {
    const { service, calls } = serviceWith(members)
    await endpoints.rotateEndpoint(service, ID, TENANT_ID)
    const [, changed] = calls[0] ?? assert.fail()
    const { sealedSecrets, previousUntil } = changed as WebhookEndpoint
    assert.equal(previousUntil, NOW + DAY)
    return sealedSecrets
  }
  assert.equal(await rotate({}), 'we_1 ["new v1","a"]')
  assert.equal(await rotate({ previousUntil: NOW + 1 }), 'we_1 ["new v1","a","b"]')
  const { service } = serviceWith()
  const live = (previousUntil: number | null) =>
    liveSecrets(service, { ...ENDPOINT, previousUntil })
  assert.deepEqual([live(null), live(NOW), live(NOW + 1)], [['a'], ['a'], ['a', 'b', 'c']])
})

test('events are written until the last endpoint of a tenant is removed', async () => {
  const remove = async (left: readonly object[]) => {
    const { service, calls } = serviceWith({}, left)
    await endpoints.removeEndpoint(service, ID, TENANT_ID)
    return calls
  }
  const both = [
    ['setNotifies', TENANT_ID, true],
    ['remove', ID],
  ]
  assert.deepEqual(await remove([{}]), both)
  assert.deepEqual(await remove([]), [...both, ['setNotifies', TENANT_ID, false]])
})

test('an event is sent again to the endpoints of its owner, or to the named one', async () => {
  const retry = async (
    by: 'operator' | typeof TENANT_ID,
    endpointId?: string,
    id: EventId | undefined = EVENT,
  ) => {
    const { service, calls } = serviceWith()
    const result = await retryEvent(service, id, { by, endpointId: endpointId as typeof ID })
    const sent = calls.map(([, delivery, at]) => {
      assert.equal(at, NOW)
      return (delivery as { endpointId: string }).endpointId
    })
    return [result.ok ? result.value : result.rejection.reason, ...sent]
  }
  assert.deepEqual(await retry('operator'), [3, 'we_1', 'we_2', 'we_3'])
  assert.deepEqual(await retry(TENANT_ID), [2, 'we_1', 'we_3'])
  assert.deepEqual(await retry(TENANT_ID, 'we_3'), [1, 'we_3'])
  assert.deepEqual(await retry(TENANT_ID, 'we_2'), ['webhook_event_not_found'])
  assert.deepEqual(await retry('operator', undefined, 'evt_9' as EventId), [
    'webhook_event_not_found',
  ])
  const { service } = serviceWith()
  const own = await inspectEvent(service, EVENT, OTHER)
  assert.deepEqual(own.ok && own.value.map(({ endpointId }) => endpointId), ['we_2'])
  assert.equal(
    reasonOf(await inspectEvent(service, undefined, 'operator')),
    'webhook_event_not_found',
  )
})

test('a call with audit entries names the first and the last, and ends before 500,000 characters', async () => {
  const send = async (reasons: readonly (string | null)[], status: number) => {
    const sent: { id: string; body: string; secrets: readonly string[] }[] = []
    const released: unknown[] = []
    const recorded: { pausedUntil: number; failures: number; isGone: boolean }[] = []
    const entries = reasons.map((reason, index) => ({
      number: index + 6,
      action: 'a',
      actorKind: 'operator',
      target: '{}',
      valueBefore: null,
      valueAfter: null,
      result: 'success',
      reason,
      contentHash: reason === null ? 'aa' : null,
    }))
    const service = serviceOver(
      {
        webhooks: {
          lease: (_: string, { held, leasedUntil }: { held: number; leasedUntil: number }) => {
            assert.deepEqual([held, leasedUntil], [0, NOW + 20_000])
            return ENDPOINT
          },
          recordEndpoint: (_: object, change: never) => void recorded.push(change),
          releaseAudit: (_: string, change: object) => void released.push(change),
        },
        audit: {
          list: (query: object) => {
            assert.deepEqual(query, { after: 5, limit: 500 })
            return entries
          },
        },
      },
      {
        meter: { attemptedWebhook: () => undefined },
        keys: { openWebhook: (text: string) => text },
        webhooks: {
          send: async (message: never) => {
            sent.push(message)
            return { status, body: '' }
          },
        },
      },
    )
    const { signal } = new AbortController()
    await sendAudit(service, ENDPOINT, { signal, version: '1' })
    return { sent: sent[0], released, recorded: recorded[0] }
  }
  const two = await send(['x', null, 'y'], 200)
  assert.equal(two.sent?.id, 'audit_6_8')
  assert.equal((JSON.parse(two.sent.body) as object[]).length, 2)
  assert.deepEqual(two.sent.secrets, ['a'])
  assert.deepEqual(two.released, [{ position: 8, held: NOW + 20_000 }])
  assert.deepEqual([two.recorded?.failures, two.recorded?.pausedUntil], [0, 0])
  const long = 'x'.repeat(300_000)
  assert.equal((await send([long, long, 'y'], 200)).sent?.id, 'audit_6_6')
  assert.equal((await send(['x'.repeat(600_000), 'y'], 200)).sent?.id, 'audit_6_6')
  const failed = await send(['x'], 410)
  assert.deepEqual(failed.released, [{ position: 5, held: NOW + 20_000 }])
  assert.deepEqual(
    [failed.recorded?.failures, failed.recorded?.pausedUntil, failed.recorded?.isGone],
    [3, NOW + 5_000, true],
  )
  const emptied = await send([null, null], 200)
  assert.deepEqual(
    [emptied.sent, emptied.released],
    [undefined, [{ position: 7, held: NOW + 20_000 }]],
  )
})
