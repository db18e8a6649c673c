import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  COMPLETION_OUTCOMES,
  ENDED_REASONS,
  EVENT_TYPES,
  eventTypesOf,
  SESSION_STATES,
  type WebhookEvent,
} from '@bonded/contract'
import {
  createEndpoint,
  inspectEvent,
  listDeliveries,
} from '@bonded/core/operations/admin/webhooks'
import { harness, type TenantKeys, WORKFLOWS } from '../../../tests/harness/harness.ts'
import { NO_SCRIPT } from '../../../tests/harness/no-script.ts'
import { causeEvent, WANTED, type Wanted } from '../src/trigger/cause-event.ts'
import { freePort } from '../../store/tests/servers/free-port.ts'

const port = await freePort()
const h = await harness({
  hosting: { port, script: NO_SCRIPT },
  workflows: [...WORKFLOWS, { name: 'confirmed', actions: ['act'], require: ['browser'] }],
})
const events: WebhookEvent[] = []
after(() => h[Symbol.asyncDispose]())
await createEndpoint(h.service, {
  tenantId: h.shop.tenant.id,
  url: 'https://hooks.shop.example/bonded',
  events: null,
  scheme: 'v1',
})

const cause = (wanted: Wanted, { server }: TenantKeys = h.shop, workflow?: string) =>
  causeEvent(wanted, {
    service: h.service,
    origin: `http://127.0.0.1:${port}`,
    credential: server,
    workflow,
    pause: async () => h.clock.advance(60_000),
  })

for (const wanted of WANTED) {
  const { type, reason } = wanted
  test(`causes ${type} ${reason ?? ''}`, async () => {
    const caused = await cause(wanted)
    const sent = await sentEvents()
    events.push(...sent)
    const found = sent.find((event) => event.type === type)
    assert.ok(found, sent.map((event) => event.type).join())
    const { session } = found.data
    if (type.startsWith('session.')) assert.equal(session?.id, caused.session_id)
    if (type === 'session.expired')
      assert.equal(
        sent.some((event) => event.type === 'session.bonded'),
        reason === 'bonded',
      )
    else if (reason !== undefined)
      assert.equal(session?.ended_reason ?? session?.outcome ?? session?.hint, reason)
  })
}

test('has caused every event, and every state with every reason', () => {
  const types = new Set(events.map(({ type }) => type))
  assert.deepEqual(
    EVENT_TYPES.filter((type) => !types.has(type)),
    [],
  )
  const reached = new Set(
    events.flatMap(({ type, data: { session } }) =>
      session === undefined
        ? []
        : [`${type} ${session.state} ${session.ended_reason ?? session.outcome}`],
    ),
  )
  const expected = SESSION_STATES.flatMap((state) => {
    const reasons = { killed: ENDED_REASONS, completed: COMPLETION_OUTCOMES }[state as string]
    return (reasons ?? [null]).flatMap((reason) =>
      eventTypesOf(state, ENDED_REASONS.find((ended) => ended === reason) ?? null).map(
        (type) => `${type} ${state} ${reason}`,
      ),
    )
  })
  assert.deepEqual(
    expected.filter((name) => !reached.has(name)),
    [],
  )
})

test('causes nothing for a production tenant, or with a foreign credential', async () => {
  const live = await h.addTenant({ environment: 'production', name: 'Live' })
  await assert.rejects(cause({ type: 'session.created' }, live), /sandbox tenant only/)
  const foreign = { ...h.shop, server: 'sk_beta_0' }
  await assert.rejects(cause({ type: 'session.created' }, foreign), /not one of this database/)
})

test('names the reasons that an event has', async () => {
  await assert.rejects(
    cause({ type: 'session.killed', reason: 'bored' }),
    /no reason bored\. Expected one of user_declined/,
  )
  await assert.rejects(cause({ type: 'session.bonded', reason: 'any' }), /has no reasons/)
})

test('says why a workflow does not lead to the event', async () => {
  const keys = await h.addTenant({
    name: 'Strict',
    workflows: [
      { name: 'checked', actions: ['act'], passport: 'required' },
      { name: 'open', actions: ['act'] },
    ],
  })
  const stepUp = { type: 'session.step_up_required' } as const
  await assert.rejects(cause(stepUp, keys), /no workflow that requires a proof/)
  await assert.rejects(
    cause(stepUp, keys, 'open'),
    /is bonded, because of the policy of the workflow open/,
  )
  await assert.rejects(cause(stepUp, keys, 'other'), /has no workflow other/)
  await assert.rejects(cause({ type: 'session.bonded' }, keys, 'checked'), /passport_chip/)
})

const seen = new Set<string>()
/** The events since the last call. */
async function sentEvents(): Promise<readonly WebhookEvent[]> {
  const { deliveries } = await listDeliveries(h.service, { tenantId: h.shop.tenant.id, limit: 100 })
  const added = deliveries.filter(({ eventId }) => !seen.has(eventId))
  for (const { eventId } of added) seen.add(eventId)
  const logs = await Promise.all(added.map(({ eventId }) => inspectEvent(h.service, eventId)))
  return logs.flat().map(({ payload }) => JSON.parse(payload) as WebhookEvent)
}
