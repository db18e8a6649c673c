import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { serve } from '../../packages/cli/src/node/serve.ts'
import type { RunningService } from '../../packages/server/src/compose.ts'
import { readConfig } from '../../packages/server/src/settings/config.ts'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { startPostgres } from '../../packages/store/tests/servers/postgres.ts'
import { startProxy } from '../../packages/store/tests/servers/tcp-proxy.ts'
import { ROOT_KEY } from '../harness/harness.ts'
import { NO_SCRIPT } from '../harness/no-script.ts'
import { until } from '../harness/process.ts'
import { addTenant } from '../harness/tenants.ts'
import { TestClock } from '../harness/test-clock.ts'
import type { Scrapes } from './firing-alerts.ts'

const MINUTE_MS = 60_000
const WITHIN_MS = 60_000
/** Each way. A reading of the clock of the database then takes more than 250 ms. */
const DELAY_MS = 150

/** A node as an operator runs it, on PostgreSQL behind a proxy, and its scrapes over HTTP. */
export async function servedNode() {
  const parts = new AsyncDisposableStack()
  const server = parts.use(await startPostgres())
  const databaseUrl = await server.newDatabase()
  const proxy = parts.use(await startProxy(server.port))
  const through = new URL(databaseUrl)
  through.port = String(proxy.port)
  const folder = mkdtempSync(join(tmpdir(), 'bonded-test-'))
  parts.defer(() => rmSync(folder, { recursive: true, force: true }))
  const [port, metricsPort] = [await freePort(), await freePort()]
  const config = readConfig({
    BONDED_DATABASE_URL: through.href,
    BONDED_DATA_DIR: folder,
    BONDED_PORT: String(port),
    BONDED_METRICS_PORT: String(metricsPort),
    BONDED_ROOT_KEYS: `k1:${Buffer.from(ROOT_KEY.bytes).toString('base64url')}`,
  })
  const clock = new TestClock()
  let running: RunningService | undefined
  let credential = ''
  parts.defer(() => running?.[Symbol.asyncDispose]())

  const scrape = () =>
    fetch(`http://127.0.0.1:${metricsPort}/metrics`, { headers: { connection: 'close' } }).then(
      (reply) => reply.text(),
      () => undefined,
    )
  const call = (path: string, init?: RequestInit) =>
    fetch(`http://127.0.0.1:${port}${path}`, init).catch(() => undefined)
  /** What an orchestrator and a backend send in a minute. */
  const use = async () => {
    await call('/health/ready')
    await call('/api/v1/sessions', {
      method: 'POST',
      headers: { authorization: `Bearer ${credential}`, 'content-type': 'application/json' },
      body: JSON.stringify({ workflow: 'strict' }),
    })
  }
  /** Scrapes the node once a minute by its clock, until it shows what is expected each time. */
  const scrapes = async (
    count: number,
    shows: (text: string, before: string) => boolean = () => true,
  ): Promise<Scrapes> => {
    const found = [await scrape()]
    while (found.length <= count) {
      await use()
      clock.advance(MINUTE_MS)
      found.push(
        await until(async () => {
          const text = await scrape()
          return text === undefined || shows(text, found.at(-1) ?? '') ? [text] : undefined
        }, WITHIN_MS).then(([text]) => text),
      )
    }
    return found
  }
  const figure = (text: string, series: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${series} `))
        ?.slice(series.length),
    )

  return {
    async startsWithoutDatabase(): Promise<Scrapes> {
      await server.stop('fast')
      const starting = serve(config, pino({ level: 'silent' }), { script: NO_SCRIPT, clock })
      await until(scrape, WITHIN_MS)
      const attempts = 'bonded_failures_total{cause="database_unreachable"}'
      try {
        return await scrapes(
          15,
          (text, before) => figure(text, attempts) > figure(before, attempts),
        )
      } finally {
        await server.start()
        running = await starting
        credential = (await addTenant(running, {})).server
      }
    },
    healthy: () => scrapes(15),
    async slowDatabase(): Promise<Scrapes> {
      proxy.delay(DELAY_MS)
      const found = await scrapes(
        17,
        (text) => figure(text, 'bonded_database_round_trip_seconds') > 0,
      )
      proxy.restore()
      return found
    },
    async outdated(): Promise<Scrapes> {
      await server.run('update used_level set level = 1000', databaseUrl)
      const found = await scrapes(9, (text) => figure(text, 'bonded_node_outdated') === 1)
      await server.run('update used_level set level = 0', databaseUrl)
      await scrapes(1, (text) => figure(text, 'bonded_node_outdated') === 0)
      return found
    },
    async deadDatabase(): Promise<Scrapes> {
      const before = await scrape()
      await server.stop('immediate')
      const found = await scrapes(15)
      await server.start()
      return [before, ...found]
    },
    async deadNode(): Promise<Scrapes> {
      const before = await scrape()
      await running?.[Symbol.asyncDispose]()
      running = undefined
      return [before, ...(await scrapes(9))]
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}
