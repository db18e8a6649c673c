import { DatabaseSync } from 'node:sqlite'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { testEndpoint } from '../../packages/core/src/operations/admin/webhooks.ts'
import { camaraCarrier } from '../../packages/server/src/adapters/carrier/camara.ts'
import {
  type PrometheusMeter,
  prometheusMeter,
} from '../../packages/server/src/adapters/meter/prometheus-meter.ts'
import { checkpointFile } from '../../packages/server/src/adapters/signer/checkpoint-file.ts'
import { commandSigner } from '../../packages/server/src/adapters/signer/command-signer.ts'
import { startFakeCarrier } from '../../packages/server/tests/adapters/carrier/fake-carrier/fake-carrier.ts'
import { NUMBER } from '../../packages/server/tests/adapters/carrier/fake-carrier/scene.ts'
import { scene as webhookScene } from '../../packages/server/tests/webhook-scene.ts'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { type Harness, harness } from '../harness/harness.ts'
import { bondedUser, inboxHarness } from '../harness/inbox.ts'
import { transportTo } from '../harness/push-service.ts'
import type { SmallDisk } from '../harness/small-disk.ts'
import { testSigner } from '../harness/test-signer.ts'
import type { Scrapes } from './firing-alerts.ts'

const DAY_MS = 24 * 60 * 60_000
const MINUTE_MS = 60_000

interface Minutes {
  readonly h: Harness
  readonly meter: Pick<PrometheusMeter, 'read'>
  readonly count: number
  /** What callers do in each minute, besides the probe of an orchestrator. */
  readonly work?: () => Promise<unknown>
  /** Whether the service has noticed the fault in this minute. */
  readonly isDone?: () => boolean
}

/** Scrapes a service once a minute by its clock, while it is probed and used. */
async function scrapes(given: Minutes): Promise<Scrapes> {
  const { h, meter, count, work, isDone = () => true } = given
  const found: string[] = [await meter.read()]
  while (found.length <= count) {
    await h.call('GET', '/health/ready')
    await work?.()
    h.clock.advance(MINUTE_MS)
    for (let turns = 0; turns < 20 || !isDone(); turns++) await turn()
    found.push(await meter.read())
  }
  return found
}

/** Plants a fault in a service on SQLite, and returns its scrapes. */
type PlantedFault = (meter: PrometheusMeter) => Promise<Scrapes>

const withMeter = (plant: PlantedFault) => async () => {
  using meter = prometheusMeter({ version: '0.0.0' })
  return await plant(meter)
}

/** Whether the log has another line of failed work than when it was asked last. */
function failsAgain({ lines }: Harness): () => boolean {
  let seen = 0
  return () => {
    const now = lines.filter((line) => line.includes('background work failed')).length
    const isNew = now > seen
    if (isNew) seen = now
    return isNew
  }
}

export const healthy = withMeter(async (meter) => {
  await using h = await harness({ meter })
  return await scrapes({ h, meter, count: 30, work: () => h.reach('completed') })
})

export const lockedDatabase = withMeter(async (meter) => {
  await using h = await harness({ meter })
  using other = new DatabaseSync(h.databaseFile)
  other.exec('begin immediate')
  const work = () =>
    h.api('POST', '/sessions', { token: h.shop.server, body: { workflow: 'strict' } })
  const found = await scrapes({ h, meter, count: 12, work })
  other.exec('rollback')
  return found
})

export const fullDisk = (disk: SmallDisk) =>
  withMeter(async (meter) => {
    const { TMPDIR } = process.env
    process.env.TMPDIR = disk.folder
    await using h = await harness({ meter }).finally(() => {
      if (TMPDIR === undefined) delete process.env.TMPDIR
      else process.env.TMPDIR = TMPDIR
    })
    disk.fill()
    const create = () =>
      h.api('POST', '/sessions', { token: h.shop.server, body: { workflow: 'strict' } })
    while ((await create()).status === 201);
    const found = await scrapes({ h, meter, count: 12, work: create })
    disk.makeRoom()
    return found
  })()

export const newerSchema = withMeter(async (meter) => {
  await using h = await harness({ meter })
  using other = new DatabaseSync(h.databaseFile)
  other.exec(`insert into migration values (1000000, 'newer', '', 0)`)
  return await scrapes({ h, meter, count: 9 })
})

export const keyServiceDown = withMeter(async (meter) => {
  const { publicKeys } = testSigner()
  const command = join(import.meta.dirname, 'no-such-program')
  await using h = await harness({ meter, receiptSigner: commandSigner(publicKeys, { command }) })
  const work = () => h.reach('completed')
  return await scrapes({ h, meter, count: 15, work, isDone: failsAgain(h) })
})

export const checkpointNotWritable = withMeter(async (meter) => {
  await using h = await harness({ meter })
  // A file where the folder of the checkpoint should be.
  writeFileSync(join(h.folder, 'checkpoints'), '')
  const keptCheckpoint = checkpointFile(join(h.folder, 'checkpoints', 'receipt-log.checkpoint'))
  Object.assign(h.service, { keptCheckpoint })
  const work = () => h.reach('completed')
  return await scrapes({ h, meter, count: 15, work, isDone: failsAgain(h) })
})

export const webhookEndpointDown = withMeter(async (meter) => {
  await using s = await webhookScene({ meter })
  s.receiver.behavior.now = (_, socket) => socket.destroy()
  const { endpoint } = await s.add()
  return await scrapes({
    h: s.h,
    meter,
    count: 90,
    work: () => testEndpoint(s.h.service, endpoint.id),
  })
})

export const pushServiceDown = withMeter(async (meter) => {
  const port = await freePort()
  await using scene = await inboxHarness({ meter, push: (clock) => transportTo(port, clock) })
  const { h } = scene
  // Another user each minute, because a user is woken a few times an hour.
  const work = async () => {
    const { phone, subjectRef } = await bondedUser(h)
    await scene.setPush(phone, 'https://fcm.googleapis.com/send/phone')
    h.clock.advance(1)
    await scene.tryCreate({ subject_ref: subjectRef })
  }
  return await scrapes({ h, meter, count: 25, work })
})

export const carrierDown = withMeter(async (meter) => {
  const clock = { now: () => 0, elapsed: () => 0, schedule: () => () => {} }
  const { settings, ...carrier } = await startFakeCarrier({ clock })
  await carrier[Symbol.asyncDispose]()
  await using h = await harness({
    meter,
    carrier: (own) => camaraCarrier([settings], { clock: own }),
  })
  const phone = await h.register()
  const work = async () => {
    const session = await h.create({ workflow: 'credit_application', phone_number: NUMBER })
    await h.claim(phone, session)
    await h.evidence(phone, await h.view(phone, session))
  }
  return await scrapes({ h, meter, count: 25, work })
})

export const clockSet = withMeter(async (meter) => {
  await using h = await harness({ meter })
  h.clock.set(DAY_MS)
  return await scrapes({ h, meter, count: 15 })
})
