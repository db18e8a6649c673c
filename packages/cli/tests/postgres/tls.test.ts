import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { keyringOf } from '../../../server/src/adapters/keys/keyring.ts'
import { openPostgres } from '../../../store/src/postgres/open-postgres.ts'
import { PostgresPrograms } from '../../../store/src/backup/postgres-programs.ts'
import { localBus } from '../../../server/src/adapters/bus/local-bus.ts'
import { explain } from '../../src/program/explain.ts'
import { noMeter } from '../../../core/src/ports/meter.ts'
import { ROOT_KEY } from '../../../../tests/harness/harness.ts'
import { startPostgres } from '../../../store/tests/servers/postgres.ts'
import { until } from '../../../../tests/harness/process.ts'
import { settingsOf } from '../../../store/tests/servers/test-database.ts'
import { NOW } from '../../../store/tests/tables/table-operations.ts'

const folder = mkdtempSync(join(tmpdir(), 'bonded-tls-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const path = (name: string) => join(folder, name)

function openssl(...args: readonly string[]): void {
  const made = spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' })
  assert.equal(made.status, 0, made.stderr)
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc', '-days', '2']
for (const authority of ['ca', 'other-ca'])
  openssl(
    'req',
    '-x509',
    ...KEY,
    '-keyout',
    `${authority}.key`,
    '-out',
    `${authority}.pem`,
    '-subj',
    `/CN=${authority}`,
  )
/** A certificate of the authority `ca` for a host. */
function certificateFor(name: string, san: string): void {
  openssl(
    'req',
    '-x509',
    ...KEY,
    '-CA',
    'ca.pem',
    '-CAkey',
    'ca.key',
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.pem`,
    '-subj',
    `/CN=${name}`,
    '-addext',
    `subjectAltName=${san}`,
    '-addext',
    'basicConstraints=critical,CA:FALSE',
  )
}
certificateFor('right', 'DNS:localhost')
certificateFor('wrong', 'DNS:db.example')

const server = await startPostgres()
const plain = await server.newDatabase()
const { uid, gid } = statSync(`/proc/${server.pid()}`)
chmodSync(folder, 0o755)
for (const name of readdirSync(folder)) {
  chownSync(path(name), uid, gid)
  chmodSync(path(name), 0o600)
}

/** Turns TLS on with a certificate, or off. */
async function serve(certificate: 'right' | 'wrong' | undefined): Promise<void> {
  await server.run(`alter system set ssl_cert_file = '${path(`${certificate ?? 'right'}.pem`)}'`)
  await server.run(`alter system set ssl_key_file = '${path(`${certificate ?? 'right'}.key`)}'`)
  await server.run(`alter system set ssl = ${certificate === undefined ? 'off' : 'on'}`)
  await server.run('select pg_reload_conf()')
  const wanted = [certificate === undefined ? 'off' : 'on', path(`${certificate ?? 'right'}.pem`)]
  // Each run has a connection of its own, which begins with the settings of the server process.
  await until(async () => {
    const [row] = await server.run(
      `select current_setting('ssl') as ssl, current_setting('ssl_cert_file') as file`,
    )
    return row?.['ssl'] === wanted[0] && row?.['file'] === wanted[1] ? true : undefined
  }, 60_000)
}

/** The URL of the database by the name `localhost`, or by another host. */
function urlOf({ host = 'localhost', ...parameters }: Record<string, string>): string {
  const url = new URL(plain)
  url.hostname = host
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}

const { idKeys } = keyringOf([ROOT_KEY])
const open = (url: string) => openPostgres(settingsOf(url), { now: NOW, idKeys })

/** What the operator reads when a start is rejected. */
async function rejection(url: string): Promise<string> {
  const failure = await open(url).then(
    () => undefined,
    (cause: unknown) => cause,
  )
  assert.ok(failure !== undefined, `${url} was accepted`)
  const { code, message } = explain(failure)
  assert.equal(code, 'database_unsuitable', message)
  return message
}

test('the named authority of a server on this machine protects the connection by verified TLS', async () => {
  await serve('right')
  const openStore = await open(urlOf({ sslrootcert: path('ca.pem') }))
  await using store = openStore({ bus: localBus(), meter: noMeter })
  assert.deepEqual(await store.health(), [])
  const [row] = await server.run(
    `select bool_and(ssl) as encrypted, count(*) as connections
     from pg_stat_ssl join pg_stat_activity using (pid) where application_name = 'bonded'`,
  )
  assert.equal(row?.encrypted, true)
})

test('a certificate for another host, of another authority, or none is rejected with the fix', async () => {
  const verified = { sslmode: 'verify-full', sslrootcert: path('ca.pem') }
  await serve('right')
  const unknown = /does not trust.*sslrootcert/
  assert.match(await rejection(urlOf({ ...verified, sslrootcert: path('other-ca.pem') })), unknown)
  assert.match(await rejection(urlOf({ sslmode: 'verify-full' })), unknown)
  await serve('wrong')
  assert.match(
    await rejection(urlOf(verified)),
    /names other hosts.*DNS:db\.example.*by one of them/,
  )
  await serve(undefined)
  assert.match(await rejection(urlOf(verified)), /offers no TLS.*ssl = on/)
})

test('a server that is not on this machine is never reached without TLS by default', async () => {
  await serve(undefined)
  // Another name of this machine, which the service does not count as local.
  assert.match(await rejection(urlOf({ host: '0.0.0.0' })), /offers no TLS.*sslmode=disable/)
  const openStore = await open(urlOf({ host: '0.0.0.0', sslmode: 'disable' }))
  await using store = openStore({ bus: localBus(), meter: noMeter })
  assert.deepEqual(await store.health(), [])
})

test('pg_dump verifies the server as the service does', async (t) => {
  const address = (url: string) => settingsOf(url).address
  const dump = (url: string) =>
    new PostgresPrograms(address(url), undefined).run('pg_dump', ['--file=/dev/null'])
  if (spawnSync('pg_dump', ['--version']).status !== 0) {
    console.warn('LOUD: no pg_dump (apt-get install postgresql): its TLS is not tested.')
    return t.skip('no pg_dump')
  }
  await serve('right')
  const verified = { sslmode: 'verify-full', sslrootcert: path('ca.pem') }
  // Debian's program is older than the server from npm, which it learns once it is connected.
  const outcome = await dump(urlOf(verified)).catch(String)
  assert.ok(outcome === undefined || outcome.includes('version mismatch'), String(outcome))
  await assert.rejects(
    dump(urlOf({ ...verified, sslrootcert: path('other-ca.pem') })),
    /certificate verify failed/,
  )
  await serve('wrong')
  await assert.rejects(dump(urlOf(verified)), /does not match host name/)
})
