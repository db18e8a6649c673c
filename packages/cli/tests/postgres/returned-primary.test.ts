import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { localBus } from '../../../server/src/adapters/bus/local-bus.ts'
import { keyringOf } from '../../../server/src/adapters/keys/keyring.ts'
import { openPostgres } from '../../../store/src/postgres/open-postgres.ts'
import type { Session } from '../../../core/src/domain/session.ts'
import { MOVES } from '../../../core/src/protocol/states.ts'
import { noMeter } from '../../../core/src/ports/meter.ts'
import { type Store, StoreError, type Unit } from '../../../core/src/ports/store.ts'
import { rows } from '../../../store/src/statement.ts'
import { ROOT_KEY } from '../../../../tests/harness/harness.ts'
import { CREATE_TENANT, machine, until } from '../../../../tests/harness/process.ts'
import { type ReplicatedPostgres, startReplicated } from '../../../../tests/harness/standby.ts'
import { settingsOf } from '../../../store/tests/servers/test-database.ts'
import { newSession, NOW } from '../../../store/tests/tables/table-operations.ts'

const WITHIN_MS = 60_000
/** More than a node has connections, so that each of them reads. */
const READS = 40
const { idKeys } = keyringOf([ROOT_KEY])

async function openNode(url: string): Promise<Store> {
  const open = await openPostgres(settingsOf(url), { now: NOW, idKeys })
  return open({ bus: localBus(), meter: noMeter })
}

/** A node, and a session that ends on the new primary only. The URL lists the old one first. */
class Failover implements AsyncDisposable {
  readonly servers: ReplicatedPostgres
  readonly url: string
  readonly session: Session
  node: Store | undefined

  private constructor(servers: ReplicatedPostgres, url: string, session: Session) {
    this.servers = servers
    this.url = url
    this.session = session
  }

  static async prepare(): Promise<Failover> {
    const servers = await startReplicated()
    const url = await servers.newDatabase()
    await using before = await openNode(url)
    const session = newSession(before.newSessionId(NOW, new Uint8Array(16)))
    await before.write((tables) => tables.sessions.create(session))
    return new Failover(servers, url, session)
  }

  async start(): Promise<void> {
    this.node = await openNode(this.url)
  }

  kill(): Promise<void> {
    return this.servers.primary.stop('kill')
  }

  /** The old primary starts again, and confirms commits without the standby that it has lost. */
  async return(): Promise<void> {
    const { primary } = this.servers
    await primary.start()
    await primary.run('alter system reset synchronous_standby_names')
    await primary.run('select pg_reload_conf()')
  }

  /** Promotes the standby, and ends the session there. */
  async promote(): Promise<void> {
    const { standby } = this.servers
    await standby.run('alter system reset synchronous_standby_names')
    await standby.run('select pg_promote()')
    await using other = await openNode(this.servers.urlOn(standby, this.url))
    const moved = await other.write((tables) =>
      tables.sessions.move(this.session, MOVES.kill, { now: NOW }),
    )
    assert.equal(moved?.state, 'killed')
  }

  /** Breaks the connections to the new primary. */
  async restartNew(): Promise<void> {
    await this.servers.standby.stop('immediate')
    await this.servers.standby.start()
  }

  /** @returns the state, or undefined while no server can be used */
  async read(): Promise<string | undefined> {
    const find = this.node?.read((tables) => tables.sessions.find(this.session.id))
    const found = await find?.catch((failure: unknown) => {
      assert.ok(failure instanceof StoreError, String(failure))
      return undefined
    })
    return found?.state
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.node?.[Symbol.asyncDispose]()
    await this.servers[Symbol.asyncDispose]()
  }
}

type Step = 'start' | 'kill' | 'promote' | 'return' | 'restartNew'
const ORDERS: readonly (readonly Step[])[] = [
  ['kill', 'promote', 'return', 'start'],
  ['kill', 'promote', 'start', 'return'],
  ['start', 'kill', 'promote', 'return', 'restartNew'],
  ['start', 'kill', 'return', 'promote'],
  ['kill', 'return', 'start', 'promote'],
]

for (const order of ORDERS) {
  test(`a node reads nothing of an old primary that returns: ${order.join(', ')}`, async () => {
    await using failover = await Failover.prepare()
    for (const step of order) {
      await failover[step]()
      await failover.read()
    }
    // A node that was on the old primary finds the new one by its next survey.
    const wasOnOld = order.indexOf('return') < order.indexOf('promote')
    await until(async () => {
      const state = await failover.read()
      if (!wasOnOld) assert.notEqual(state, 'pending')
      return state === 'killed' || undefined
    }, WITHIN_MS)
    const states = await Promise.all(Array.from({ length: READS }, () => failover.read()))
    assert.deepEqual(new Set(states), new Set(['killed']))
  })
}

test('calls in progress at a promotion run again on the new primary, or fail as an outage', async () => {
  await using failover = await Failover.prepare()
  await failover.start()
  const { standby } = failover.servers
  const node = failover.node as Store
  // Longer than a survey takes to find the promotion, and shorter than a statement may take.
  const slow: Unit<unknown> = function* () {
    const [found] = yield* rows('select pg_sleep(4), inet_server_port() as port', [])
    return found?.port
  }
  const calls = [1, 2].flatMap(() => [node.read(slow), node.write(slow)])
  const ended = Promise.allSettled(calls)
  await failover.promote()
  for (const call of await ended)
    if (call.status === 'fulfilled') assert.equal(call.value, standby.port)
    else assert.ok(call.reason instanceof StoreError, String(call.reason))
})

test('an old primary is not used while a standby of the new one responds', async () => {
  await using failover = await Failover.prepare()
  const { primary, standby } = failover.servers
  for (const step of ['kill', 'promote', 'return'] as const) await failover[step]()
  // A standby on the new timeline, instead of the new primary.
  await standby.run('checkpoint')
  await standby.stop('fast')
  standby.becomeStandby()
  await standby.start()
  await assert.rejects(failover.start(), /it is an old primary|it is a standby/)
  const url = failover.servers.urlOn(primary, failover.url)
  assert.equal((await primary.run('select * from session', url)).length, 1)
})

test('a command writes to the new primary, though the old one has returned and is listed first', async () => {
  await using failover = await Failover.prepare()
  for (const step of ['kill', 'promote', 'return'] as const) await failover[step]()
  const { primary, standby } = failover.servers
  const rootKeys = `k1:${Buffer.from(ROOT_KEY.bytes).toString('base64url')}`
  using operator = machine({
    env: { BONDED_DATABASE_URL: failover.url, BONDED_ROOT_KEYS: rootKeys },
  })
  await operator.jsonMeanwhile(...CREATE_TENANT, '--json')
  const tenantsOn = async (server: typeof primary) => {
    const url = failover.servers.urlOn(server, failover.url)
    return (await server.run('select id from tenant', url)).length
  }
  assert.deepEqual([await tenantsOn(primary), await tenantsOn(standby)], [0, 1])
})

test('two servers that accept writes on one timeline stop a node, until one of them is stopped', async () => {
  await using failover = await Failover.prepare()
  const { primary, standby } = failover.servers
  await failover.start()
  // A copy of the data that starts as a primary of its own, without a promotion.
  await standby.stop('fast')
  rmSync(join(standby.folder, 'data', 'standby.signal'))
  await primary.run('alter system reset synchronous_standby_names')
  await primary.run('select pg_reload_conf()')
  await standby.start()
  const both = /127\.0\.0\.1:\d+ and 127\.0\.0\.1:\d+ both accept writes on timeline 1, /
  const { node, session } = failover
  await until(
    () =>
      node
        ?.read((tables) => tables.sessions.find(session.id))
        .then(
          () => undefined,
          (failure: unknown) => both.test(String(failure)) || undefined,
        ) ?? Promise.resolve(undefined),
    WITHIN_MS,
  )
  assert.deepEqual(await node?.health(), ['store_unwritable'])
  await assert.rejects(openNode(failover.url), both)
  await standby.stop('immediate')
  await until(async () => ((await failover.read()) === 'pending' ? true : undefined), WITHIN_MS)
  assert.deepEqual(await node?.health(), [])
})

test('a URL that names one server twice has no conflict', async () => {
  await using failover = await Failover.prepare()
  const { primary } = failover.servers
  const twice = failover.url.replace(/,127\.0\.0\.1:\d+/, `,127.0.0.1:${primary.port}`)
  failover.node = await openNode(twice)
  assert.equal(await failover.read(), 'pending')
})
