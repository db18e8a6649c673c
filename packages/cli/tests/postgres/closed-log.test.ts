import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { PostgresServer } from '../../../store/tests/servers/postgres.ts'
import {
  type Machine,
  machine,
  type ServingProcess,
  until,
} from '../../../../tests/harness/process.ts'
import { type ReplicatedPostgres, startReplicated } from '../../../../tests/harness/standby.ts'
import {
  checkpointOf,
  originOf,
  receiptRows,
  verifyLog,
} from '../../../../tests/harness/stored-log.ts'

const WITHIN_MS = 60_000
const ORIGIN = 'localhost:1/receipts/log'
const folder = mkdtempSync(join(tmpdir(), 'bonded-closed-log-'))
after(() => rmSync(folder, { recursive: true }))
const keys = join(folder, 'receipts.pem')
const { privateKey } = generateKeyPairSync('ed25519')
writeFileSync(keys, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
const ROOT_KEYS = `k1:${randomBytes(32).toString('base64url')}`

/** A node with a data folder of its own. */
const on = (url: string): Machine =>
  machine({
    env: {
      BONDED_ROOT_KEYS: ROOT_KEYS,
      BONDED_RECEIPT_KEYS: keys,
      BONDED_DATABASE_URL: url,
      BONDED_PUBLIC_ORIGIN: 'http://localhost:1',
    },
  })

/** The size that the latest checkpoint in this server's database covers. Entries come before it. */
const replicatedSize = async (server: PostgresServer, url: string) =>
  Number((await server.run('select checkpoint_size from receipt_log', url))[0]?.checkpoint_size)

/** Two nodes on a primary whose standby has three entries. Then the primary is lost. */
async function failOver(
  servers: ReplicatedPostgres,
  isSynchronous: boolean,
  work: (given: {
    readonly url: string
    readonly operator: Machine
    readonly nodes: readonly [ServingProcess, ServingProcess]
    readonly add: (server: PostgresServer, count: number) => Promise<unknown>
    readonly promote: () => Promise<void>
  }) => Promise<void>,
): Promise<void> {
  const { primary, standby } = servers
  const url = await servers.newDatabase()
  if (!isSynchronous) {
    await primary.run('alter system reset synchronous_standby_names')
    await primary.run('select pg_reload_conf()')
  }
  using one = on(url)
  using two = on(url)
  await using first = await one.serve()
  await using second = await two.serve()
  await work({
    url,
    operator: one,
    nodes: [first, second],
    add: (server, count) => server.run(receiptRows(count), servers.urlOn(server, url)),
    async promote() {
      await standby.run('alter system reset synchronous_standby_names')
      await standby.run('select pg_promote()')
    },
  })
}

test('the log goes on after a failover that cannot lose entries', async () => {
  await using servers = await startReplicated()
  const { primary, standby } = servers
  await failOver(servers, true, async ({ operator, nodes: [first, second], add, promote }) => {
    await add(primary, 3)
    const three = await checkpointOf(first, 3)
    await primary.stop('kill')
    await promote()
    await add(standby, 1)
    const four = await checkpointOf(second, 4)
    assert.deepEqual([three, four].map(originOf), [ORIGIN, ORIGIN])
    const printed = await verifyLog(operator, first, { older: three, newer: four })
    assert.match(printed, /The log only grew/)
  })
})

test('another log begins after a failover that may have lost entries, and no place has two receipts', async () => {
  await using servers = await startReplicated()
  const { primary, standby } = servers
  await failOver(servers, false, async ({ url, operator, nodes, add, promote }) => {
    const [first, second] = nodes
    await add(primary, 3)
    const three = await checkpointOf(first, 3)
    await until(async () => {
      const size = await replicatedSize(standby, servers.urlOn(standby, url))
      return size === 3 || undefined
    }, WITHIN_MS)
    await standby.stop('immediate')
    await add(primary, 2)
    const five = await checkpointOf(second, 5)
    await primary.stop('kill')
    await standby.start()
    await promote()
    await add(standby, 3)
    const six = await checkpointOf(first, 6)
    assert.deepEqual([three, five].map(originOf), [ORIGIN, ORIGIN])
    assert.match(originOf(six), new RegExp(`^${ORIGIN}/[\\w-]{22}$`))
    assert.equal(await checkpointOf(second, 6), six)
    const verify = (older: string) => verifyLog(operator, first, { older, newer: six })
    assert.match(await verify(three), /The log only grew/)
    assert.match(await verify(five), /The service closed the log .* with 3 entries \(failover\)/)
  })
})
