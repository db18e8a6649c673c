import { dueEndpoints } from '../../core/src/operations/webhook/send-webhooks.ts'
import { WebhookLane } from '../../core/src/operations/webhook/webhook-lane.ts'
import type { Store } from '../../core/src/ports/store.ts'
import type { WebhookTransport } from '../../core/src/ports/webhooks.ts'
import { localBus } from '../src/adapters/bus/local-bus.ts'
import { keyringOf } from '../src/adapters/keys/keyring.ts'
import { systemRandom } from '../src/adapters/keys/random.ts'
import { httpsTransport } from '../src/adapters/webhooks/https-transport.ts'
import type { Service } from '../../core/src/operations/service.ts'
import { noMeter } from '../../core/src/ports/meter.ts'
import { SqliteStore } from '../../store/src/sqlite/sqlite-store.ts'
import { openPostgres } from '../../store/src/postgres/open-postgres.ts'
import { ROOT_KEY } from '../../../tests/harness/harness.ts'
import { settingsOf } from '../../store/tests/servers/test-database.ts'
import { TestClock } from '../../../tests/harness/test-clock.ts'

/**
 * The steps of two deliveries, sent one after the other: the first is claimed, sent, and recorded
 * with the claim of the second, which then ends. A process can die after each.
 */
export const STEPS = ['found', 'claimed', 'sent', 'recorded', 'ended'] as const
export type Step = (typeof STEPS)[number]

const [step, database = '', host = ''] = process.argv.slice(2)
const die = () => process.kill(process.pid, 'SIGKILL')
const reached = (now: Step) => {
  if (now === step) die()
}

/** A process that sends what is due, and kills itself after the step. */
async function sendAndDie(): Promise<void> {
  const clock = new TestClock()
  const keys = keyringOf([ROOT_KEY])
  const store = await openStore(clock.now(), keys.idKeys)
  const real = httpsTransport({ clock, hosts: [host] })
  const webhooks: WebhookTransport = {
    ...real,
    async send(message, signal) {
      reached('claimed')
      const result = await real.send(message, signal)
      reached('sent')
      return result
    },
  }
  let writes = 0
  const dying: Store = Object.assign(Object.create(store) as Store, {
    async write(unit: Parameters<Store['write']>[0]) {
      const value = await store.write(unit)
      // The first claim; the result of each delivery, with the next claim.
      if (++writes === 2) reached('recorded')
      if (writes === 3) reached('ended')
      return value
    },
    read: (unit: Parameters<Store['read']>[0]) => store.read(unit),
  })
  const service = {
    clock,
    keys,
    store: dying,
    webhooks,
    meter: noMeter,
    random: systemRandom(),
  } as unknown as Service
  const [endpoint] = (await dueEndpoints(service, 1)).deliveries
  if (endpoint === undefined) throw new Error('nothing is due')
  reached('found')
  const { signal } = new AbortController()
  await new WebhookLane(service, endpoint, { free: 1, signal, mayClaim: () => true }).run()
}

async function openStore(
  now: number,
  idKeys: ReturnType<typeof keyringOf>['idKeys'],
): Promise<Store> {
  const bus = localBus()
  if (!database.startsWith('postgres')) return new SqliteStore(database, { bus, idKeys })
  return (await openPostgres(settingsOf(database), { now, idKeys }))({ bus, meter: noMeter })
}

if (step !== undefined && database !== '') await sendAndDie()
