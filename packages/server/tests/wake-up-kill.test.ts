import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createEndpoint } from '../../core/src/operations/admin/webhooks.ts'
import { send } from '../../../tests/harness/client.ts'
import { firstOutput } from '../../../tests/harness/first-output.ts'
import { HOUR, inboxHarness } from '../../../tests/harness/inbox.ts'
import { pushService } from '../../../tests/harness/push-service.ts'
import { STEPS } from './dying-node.ts'
import { webhookReceiver } from './webhook-receiver.ts'

const PROGRAM = join(import.meta.dirname, 'dying-node.ts')

for (const step of STEPS)
  test(`a node killed before a wake-up is ${step} loses no request, and sends no reminder`, async () => {
    await using push = await pushService()
    await using receiver = await webhookReceiver()
    await using scene = await inboxHarness({
      push: (clock) => push.transport(clock),
      settings: { webhookHosts: [receiver.host] },
    })
    const { h, phone, tryCreate } = scene
    const { url } = receiver
    const tenantId = h.shop.tenant.id
    await createEndpoint(h.service, { tenantId, url, events: ['session.waiting'], scheme: 'v1' })
    const endpoint = push.subscribe('phone', (await scene.open()).body.push.public_key)
    assert.equal((await scene.setPush(phone, endpoint)).status, 204)

    const database = h.databaseUrl ?? h.databaseFile
    const args = [PROGRAM, step, database, String(h.clock.now()), String(push.port)]
    const node = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = once(node, 'exit')
    const port = await firstOutput(node)
    const body = { workflow: 'day', subject_ref: scene.subjectRef }
    const headers = { 'idempotency-key': 'one' }
    const call = { token: h.shop.server, headers, body }
    // The node may die before it responds.
    await send(Number(port), { method: 'POST', path: '/api/v1/sessions', ...call }).catch(() => {})
    assert.deepEqual(await ended, [null, 'SIGKILL'])
    const messages = step === 'recorded' ? 1 : 0
    assert.equal(push.received.length, messages)

    await h.restart()
    const { items } = (await scene.open()).body
    assert.equal(items.length, 1)
    const [{ session_id: id, nonce }] = items
    // The tenant learns of the request by its own channel.
    while (receiver.received.length === 0) {
      h.clock.advance(500)
      for (let turns = 0; turns < 20; turns++) await turn()
    }
    assert.deepEqual(
      receiver.received.map(({ event }) => [event.type, event.data.session?.id]),
      [['session.waiting', id]],
    )
    const decided: unknown[] = []
    h.service.wakeUps.listen((wakeUps) => decided.push(...wakeUps))
    const repeated = await h.api('POST', '/sessions', call)
    assert.deepEqual([repeated.status, repeated.body.id], [201, id])
    // The lost wake-up counts: a tenant that asks again does not ring more often.
    assert.equal((await tryCreate()).status, 201)
    assert.deepEqual(decided, [])
    await h.claim(phone, { id, nonce })
    assert.equal((await h.attest(phone, await h.view(phone, { id, nonce }))).status, 200)
    h.clock.advance(HOUR)
    assert.equal((await tryCreate()).status, 201)
    assert.deepEqual(decided, [{ deviceId: phone.device_id, endpoint }])
    assert.equal(push.received.length, messages)
  })
