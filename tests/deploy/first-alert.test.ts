import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { smallDisk } from '../harness/small-disk.ts'
import { type Alert, Alertmanager, firingAlerts, MISSING, type Scrapes } from './firing-alerts.ts'
import * as faults from './planted-faults.ts'
import { servedNode } from './served-faults.ts'

const disk = smallDisk()

/** The names of alerts in the order in which they are sent first, each with its cause. */
async function sentAlerts(
  manager: Alertmanager,
  timeline: readonly (readonly Alert[])[],
): Promise<readonly string[]> {
  const sent: string[] = []
  let known = ''
  for (const alerts of timeline) {
    const text = JSON.stringify(alerts)
    if (text === known || alerts.length === 0) continue
    known = text
    for (const { alertname = '', cause } of await manager.sent(alerts))
      sent.push(cause === undefined ? alertname : `${alertname} ${cause}`)
  }
  return [...new Set(sent)]
}

const namesIn = (timeline: readonly (readonly Alert[])[]) => [
  ...new Set(timeline.flat().map(({ alertname = '' }) => alertname)),
]

describe('the first alert of a planted fault names its cause, and no other is sent', {
  skip: MISSING,
}, () => {
  let manager: Alertmanager
  let node: Awaited<ReturnType<typeof servedNode>>
  let healthy: Scrapes
  before(async () => {
    manager = await Alertmanager.start()
    node = await servedNode()
    healthy = await faults.healthy()
  })
  after(async () => {
    await manager[Symbol.asyncDispose]()
    await node[Symbol.asyncDispose]()
    disk?.[Symbol.dispose]()
  })

  /**
   * @param expected.sent what an operator receives
   * @param expected.muted what fires too, and follows from it
   */
  const plant = (
    fault: string,
    scrapes: () => Promise<Scrapes>,
    expected: {
      readonly sent: readonly string[]
      readonly muted?: readonly string[]
      readonly options?: Parameters<typeof firingAlerts>[1]
    },
  ): void => {
    test(fault, async () => {
      const { sent, muted = [], options } = expected
      const timeline = firingAlerts(await scrapes(), options)
      assert.deepEqual(await sentAlerts(manager, timeline), sent)
      const names = sent.map((text) => text.split(' ')[0])
      assert.deepEqual(new Set(namesIn(timeline)), new Set([...names, ...muted]))
    })
  }

  plant('no fault', async () => healthy, { sent: [] })
  plant('a backup that is missing', async () => healthy, {
    sent: ['BondedBackupOld'],
    options: { hasBackups: false },
  })
  plant('a lock of another program on the database', faults.lockedDatabase, {
    sent: ['BondedDatabaseLocked database_locked'],
    muted: ['BondedNotReady', 'BondedServerErrors'],
  })
  test('a full disk', {
    skip: disk === undefined && 'no right to mount a small disk, and /dev/shm is large',
  }, async () => {
    assert.ok(disk)
    const timeline = firingAlerts(await faults.fullDisk(disk))
    assert.deepEqual(await sentAlerts(manager, timeline), ['BondedDiskFull'])
    assert.ok(namesIn(timeline).includes('BondedNotReady'))
  })
  plant('a schema of a newer version', faults.newerSchema, {
    sent: ['BondedNotReady migrations_unknown'],
  })
  plant('a key service that does not sign', faults.keyServiceDown, {
    sent: ['BondedReceiptsFail signer'],
  })
  plant('a checkpoint that cannot be written', faults.checkpointNotWritable, {
    sent: ['BondedReceiptsFail checkpoint_file'],
    muted: ['BondedReceiptLogLate'],
  })
  plant('a webhook endpoint that is down', faults.webhookEndpointDown, {
    sent: ['BondedWebhookEndpointFails'],
  })
  plant('a push service that is down', faults.pushServiceDown, { sent: ['BondedPushFails'] })
  plant('a carrier that is down', faults.carrierDown, { sent: ['BondedCarrierFails'] })
  plant('a clock that was set', faults.clockSet, { sent: ['BondedClockStepped'] })

  plant('a database that is down at the start', () => node.startsWithoutDatabase(), {
    sent: ['BondedDatabaseUnreachable database_unreachable'],
    muted: ['BondedProbeMissing'],
  })
  plant('no fault on PostgreSQL', () => node.healthy(), { sent: [] })
  plant('a slow database', () => node.slowDatabase(), {
    sent: ['BondedDatabaseSlow'],
    muted: ['BondedSlow'],
    options: { isSlow: true },
  })
  plant('an older node', () => node.outdated(), { sent: ['BondedNodeOutdated'] })
  plant('a dead database', () => node.deadDatabase(), {
    sent: ['BondedDatabaseUnreachable database_unreachable'],
    muted: ['BondedNotReady', 'BondedServerErrors'],
  })
  plant('a dead node', () => node.deadNode(), { sent: ['BondedDown'] })
})
