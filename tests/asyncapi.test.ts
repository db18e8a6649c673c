import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { EVENT_TYPES, type WebhookEvent } from '@bonded/contract'
import { Compile } from 'typebox/schema'
import { DEVICE_EVENTS, eventOfDevice } from '../packages/core/src/domain/events.ts'
import { testEndpoint } from '../packages/core/src/operations/admin/webhooks.ts'
import { scene, until } from '../packages/server/tests/webhook-scene.ts'
import { openChannel } from './harness/channel.ts'
import { harness } from './harness/harness.ts'

interface Document {
  readonly channels: Readonly<
    Record<string, { readonly messages: Readonly<Record<string, object>> }>
  >
  readonly components: {
    readonly messages: Readonly<Record<string, { readonly payload: object }>>
    readonly schemas: Readonly<Record<string, object>>
  }
}

const document = JSON.parse(
  readFileSync(resolve(import.meta.dirname, '../docs/reference/asyncapi.json'), 'utf8'),
) as Document

/** Whether the document describes a message of this name with this body. */
function describes(name: string, body: unknown): boolean {
  const { payload } = document.components.messages[name] ?? assert.fail(`no message ${name}`)
  // Schemas refer to nothing but the named schemas.
  const schema = JSON.parse(JSON.stringify(payload), (_, value: { $ref?: string }) =>
    value?.$ref === undefined
      ? value
      : document.components.schemas[value.$ref.split('/').at(-1) ?? ''],
  )
  return Compile(schema as never).Check(body)
}

test('AsyncAPI describes every frame that a page receives on the channel', async () => {
  await using h = await harness({
    workflows: [{ name: 'w', actions: ['a'], challenge_ttl_seconds: 30 }],
  })
  const session = await h.create({})
  const phone = await h.register()
  const channel = openChannel(h.running.port, session, {
    key: h.shop.publishable,
    heartbeats: true,
  })
  const seen = new Set<string>()
  const receiveUntil = async (type: string) => {
    for (;;) {
      const frame = await channel.next()
      seen.add(frame.type)
      assert.ok(describes(frame.type, frame), JSON.stringify(frame))
      if (frame.type === type) return frame
    }
  }
  const hello = await receiveUntil('hello')
  h.clock.advance(3_000)
  await receiveUntil('heartbeat')
  h.clock.advance(27_000)
  await receiveUntil('challenge')
  await h.claim(phone, session)
  await receiveUntil('hint')
  await h.kill(session)
  await receiveUntil('state')
  assert.deepEqual([...seen].sort(), Object.keys(document.channels.session?.messages ?? {}).sort())
  assert.ok(!describes('state', hello), 'a frame of another type is not a state frame')
})

test('AsyncAPI describes every event that a webhook endpoint receives', async () => {
  await using s = await scene()
  const { h, receiver } = s
  const { endpoint } = await s.add()
  const { session: bonded } = await h.reach('completed')
  const { subject_ref } = (await h.get(bonded)).body
  h.clock.advance(1)
  await h.create({ workflow: 'agent', subject_ref })
  await h.reach('step_up_required')
  const session = await h.create()
  await h.decline(await h.register(), session, 'user_unexpected')
  await h.create()
  await testEndpoint(h.service, endpoint.id)
  h.clock.advance(300_000)
  await until(h, () => receiver.types().includes('session.expired'))
  await until(h, () => receiver.types().includes('webhook.test'))
  const id = receiver.received[0]?.event.id ?? assert.fail('no event arrived')
  const ofDevices = Object.values(DEVICE_EVENTS).map((type) => ({
    id,
    ...eventOfDevice(type, h.clock.now(), { subject_ref: 'user-1', device_ref: 'phone-1' }),
  }))
  const events: WebhookEvent[] = [...receiver.received.map(({ event }) => event), ...ofDevices]
  for (const event of events) assert.ok(describes(event.type, event), JSON.stringify(event))
  assert.deepEqual(new Set(events.map(({ type }) => type)), new Set(EVENT_TYPES))
  assert.deepEqual(Object.keys(document.channels.webhooks?.messages ?? {}), EVENT_TYPES)
  const [device] = ofDevices
  assert.ok(!describes('device.suspect', { ...device, type: 'device.suspect', data: {} }))
  assert.ok(!describes('webhook.test', { ...device, type: 'webhook.test' }))
})
