import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import { createEndpoint, listDeliveries } from '../../core/src/operations/admin/webhooks.ts'
import { CLAIM_MS } from '../../core/src/domain/webhooks.ts'
import { harness } from '../../../tests/harness/harness.ts'
import { STEPS } from './dying-sender.ts'
import { webhookReceiver } from './webhook-receiver.ts'

/** How many of the two deliveries were sent when the process died. */
const SENT = { found: 0, claimed: 0, sent: 1, recorded: 1, ended: 2 } as const
const PROGRAM = join(import.meta.dirname, 'dying-sender.ts')

for (const step of STEPS)
  test(`a sender killed after the step "${step}" loses no event and invents none`, async () => {
    await using receiver = await webhookReceiver()
    await using h = await harness({ settings: { webhookHosts: [receiver.host] } })
    const tenantId = h.shop.tenant.id
    const { url } = receiver
    await createEndpoint(h.service, { tenantId, url, events: null, scheme: 'v1' })
    const sessions = [await h.create(), await h.create()]
    const log = async () => (await listDeliveries(h.service, { tenantId, limit: 10 })).deliveries

    const database = h.databaseUrl ?? h.databaseFile
    const sender = spawn(process.execPath, [PROGRAM, step, database, receiver.host], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const [, signal] = await once(sender, 'exit')
    assert.equal(signal, 'SIGKILL')
    assert.equal(receiver.received.length, SENT[step])

    // Another sender takes over once the claim has ended.
    h.clock.advance(step === 'found' ? 0 : CLAIM_MS)
    while ((await log()).some(({ state }) => state !== 'delivered')) {
      h.clock.advance(500)
      for (let turns = 0; turns < 20; turns++) await turn()
    }
    const deliveries = await log()
    assert.deepEqual(
      deliveries.map(({ attempts }) => attempts),
      [1, 1],
    )
    assert.deepEqual(new Set(receiver.ids()), new Set(deliveries.map(({ eventId }) => eventId)))
    assert.deepEqual(
      new Set(receiver.received.map(({ event }) => event.data.session?.id)),
      new Set(sessions.map(({ id }) => id)),
    )
    // Only a result that was not stored makes its event arrive twice, with the same id.
    assert.equal(receiver.received.length, step === 'sent' ? 3 : 2)
  })
