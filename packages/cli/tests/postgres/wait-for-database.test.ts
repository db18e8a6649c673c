import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import pino from 'pino'
import { openWhenReachable } from '../../src/node/wait-for-database.ts'
import { serve } from '../../src/node/serve.ts'
import { readConfig } from '../../../server/src/settings/config.ts'
import { StoreError } from '../../../core/src/ports/store.ts'
import { ROOT_KEY } from '../../../../tests/harness/harness.ts'
import { NO_SCRIPT } from '../../../../tests/harness/no-script.ts'
import { startPostgres } from '../../../store/tests/servers/postgres.ts'
import { until } from '../../../../tests/harness/process.ts'
import { freePort } from '../../../store/tests/servers/free-port.ts'

const WITHIN_MS = 60_000
const log = pino({ level: 'silent' })
const folder = mkdtempSync(join(tmpdir(), 'bonded-test-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test('a node that starts without its database is alive and not ready, and serves once it comes', async () => {
  await using server = await startPostgres()
  const databaseUrl = await server.newDatabase()
  await server.stop('fast')
  const port = await freePort()
  const config = readConfig({
    BONDED_DATABASE_URL: databaseUrl,
    BONDED_DATA_DIR: folder,
    BONDED_PORT: String(port),
    BONDED_ROOT_KEYS: `k1:${Buffer.from(ROOT_KEY.bytes).toString('base64url')}`,
  })
  const starting = serve(config, log, { script: NO_SCRIPT })
  const ask = (path: string, init?: RequestInit) =>
    fetch(`http://127.0.0.1:${port}${path}`, init).catch(() => undefined)
  const alive = await until(() => ask('/health/alive'), WITHIN_MS)
  assert.equal(alive.status, 200)
  assert.deepEqual(await alive.json(), { status: 'alive', reasons: [] })

  const ready = await ask('/health/ready')
  assert.equal(ready?.status, 503)
  const { error } = (await ready.json()) as { error: { reason: string; unready: string[] } }
  assert.deepEqual([error.reason, error.unready], ['not_ready', ['store_unreadable']])
  const create = await ask('/api/v1/sessions', { method: 'POST', body: '{}' })
  assert.equal(create?.status, 503)
  assert.match(create.headers.get('retry-after') ?? '', /^\d+$/)
  assert.equal(
    ((await create.json()) as { error: { reason: string } }).error.reason,
    'store_unavailable',
  )

  await server.start()
  await using running = await starting
  assert.equal(running.port, port)
  assert.equal((await ask('/health/ready'))?.status, 200)
})

test('a start ends at once with every other failure', async () => {
  const rejected = new StoreError('wrong password', { kind: 'rejected' })
  const start = openWhenReachable(() => Promise.reject(rejected), {
    host: '127.0.0.1',
    port: 0,
    log,
  })
  await assert.rejects(start, rejected)
})
