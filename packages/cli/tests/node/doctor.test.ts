import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../../../store/tests/servers/free-port.ts'
import { CREATE_TENANT, machine } from '../../../../tests/harness/process.ts'

interface Report {
  readonly ok: boolean
  readonly findings: readonly {
    readonly check: string
    readonly ok: boolean
    readonly says: string
    readonly warnings?: readonly string[]
  }[]
}
const about = ({ findings }: Report, check: string) =>
  findings.find((found) => found.check === check)

test('finds no problem before the first start, and creates no file', () => {
  using here = machine()
  const report: Report = here.json('doctor', '--port', '0')
  assert.ok(report.ok)
  assert.match(about(report, 'database')?.says ?? '', /The first start (creates|generates)/)
  assert.match(about(report, 'root keys')?.says ?? '', /The first start (creates|generates)/)
  assert.deepEqual(readdirSync(here.folder), [])
})

test('names each root key, the active one first', () => {
  const key = randomBytes(32).toString('base64url')
  using here = machine({
    env: { BONDED_ROOT_KEYS: ['new', 'older', 'oldest'].map((id) => `${id}:${key}`).join() },
  })
  const report: Report = JSON.parse(here.run('doctor', '--json', '--port', '0').stdout)
  assert.equal(
    about(report, 'root keys')?.says,
    'Active key: new. Verification only: older, oldest.',
  )
})

test('says what other hosts can do where the RP ID is above the host', () => {
  using here = machine({
    env: { BONDED_PUBLIC_ORIGIN: 'https://id.bank.example', BONDED_RP_ID: 'bank.example' },
  })
  const { stdout } = here.run('doctor', '--json', '--port', '0')
  assert.match(stdout, /Every host below bank\.example can ask a user for these passkeys/, stdout)
})

test('reports that a running service is ready, and reached through its public origin', async () => {
  const port = String(await freePort())
  const origin = `http://localhost:${port}`
  using here = machine({ env: { BONDED_PORT: port, BONDED_PUBLIC_ORIGIN: origin } })
  await using service = await here.serve()
  // The address of all interfaces is one to listen on, and not one to connect to.
  const report: Report = await here.jsonMeanwhile('doctor', '--port', port, '--host', '::')
  assert.deepEqual([report.ok, about(report, 'service')?.ok], [true, true])
  assert.match(about(report, 'public origin')?.says ?? '', /is this service/)
  assert.match(about(report, 'service')?.says ?? '', /is ready/)
  assert.match(about(report, 'database')?.says ?? '', /The schema is current/)
  await service.stop('SIGTERM')
  const after: Report = here.json('doctor', '--port', port)
  assert.match(about(after, 'service')?.says ?? '', /No service is running/)
})

test('reports all problems at once with their remedies, and exits with 1', async () => {
  using here = machine()
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  writeFileSync(here.databaseFile, 'not a database, but long enough to be read as one '.repeat(100))
  writeFileSync(join(here.folder, 'root.key'), 'k1:short')
  const ran = here.run('doctor', '--json', '--port', String(port), '--host', '127.0.0.1')
  taken.close()
  const report = JSON.parse(ran.stdout) as Report
  assert.deepEqual([ran.status, report.ok], [1, false])
  assert.deepEqual(
    report.findings.filter(({ ok }) => !ok).map(({ check }) => check),
    ['root keys', 'database', 'service'],
  )
  assert.match(about(report, 'service')?.says ?? '', /is in use/)
  assert.match(here.run('doctor', '--port', '0').stdout, /PROBLEM  database {2}/)
})

test('warns of a tenant that requires the browser and has no origin, as its update does', () => {
  using here = machine()
  const { tenant_id } = here.json(...CREATE_TENANT)
  const file = join(here.folder, 'workflows.json')
  writeFileSync(file, JSON.stringify([{ name: 'v', actions: ['x'], require: ['browser'] }]))
  const update = (...change: string[]) => here.json('tenant', 'update', tenant_id, ...change)
  assert.deepEqual(update('--add-workflow-file', file).warnings, [])
  const [warning] = update('--remove-origin', 'https://a.example').warnings
  assert.match(warning, /requires the browser and has no origin/)
  const report: Report = here.json('doctor', '--port', '0')
  const found = about(report, 'browser proof')
  assert.deepEqual([report.ok, found?.warnings], [true, [warning]])
  assert.match(
    found?.says ?? '',
    /^Tenants that require the browser: 1\. Their pages need frame-src/,
  )
  assert.match(here.run('doctor', '--port', '0').stdout, /^warning {2}browser proof/m)
  // The pages of these six sites use the passkeys themselves.
  const origins = 'abcdef'
    .split('')
    .flatMap((name) => ['--add-origin', `https://www.${name}.co.uk`])
  const related = [...origins, '--related-origins', 'on']
  assert.match(update(...related).warnings[0], /has 6 site names \(a, b, c, d, e, f\)/)
})

test('prints ten warnings of a check and counts the others, which its JSON has', () => {
  using here = machine()
  const workflows = [{ name: 'v', actions: ['x'], require: ['browser'] }]
  const tenants = Array.from({ length: 12 }, (_, index) => ({
    name: `Tenant ${index}`,
    environment: 'sandbox',
    workflows,
  }))
  const file = join(here.folder, 'tenants.yaml')
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ tenants }))
  here.json('apply', '--file', file)
  const { stdout } = here.run('doctor', '--port', '0')
  assert.equal(stdout.match(/^warning {2}browser proof/gm)?.length, 11)
  assert.match(stdout, /^warning {2}browser proof +And 2 more: run bonded doctor --json\.$/m)
  const report: Report = here.json('doctor', '--port', '0')
  assert.equal(about(report, 'browser proof')?.warnings?.length, 12)
})

test('does not call a look ok that the unreachable public origin prevented', () => {
  using here = machine({ env: { BONDED_PUBLIC_ORIGIN: 'http://localhost:1' } })
  const { stdout, status } = here.run('doctor', '--port', '0')
  assert.equal(status, 0, stdout)
  assert.match(stdout, /^skipped {2}public origin +Nothing answers/m)
  assert.match(stdout, /^skipped {2}certificate +Not checked/m)
  assert.doesNotMatch(stdout, /^ok .*(Not checked|Nothing answers)/m)
})

test('checks the folder of --backups in a sandbox, and requires nothing there', () => {
  using here = machine()
  const operation = (...words: string[]) =>
    about(here.json('doctor', '--port', '0', ...words) as Report, 'operation')
  assert.deepEqual(operation()?.warnings, undefined)
  const missing = join(here.folder, 'missing')
  assert.deepEqual(operation('--backups', missing)?.warnings, [
    `${missing} cannot be read, so its backups are not checked.`,
  ])
  assert.match(String(operation('--backups', here.folder)?.warnings), /has no backup/)
  writeFileSync(join(here.folder, 'one.backup'), '')
  assert.deepEqual(operation('--backups', here.folder)?.warnings, [])
})

test('warns in production where receipts, metrics or backups are off, or a backup is old', () => {
  using here = machine({
    env: {
      BONDED_ENVIRONMENT: 'production',
      BONDED_PUBLIC_ORIGIN: 'https://bond.invalid',
      BONDED_ROOT_KEYS: `k1:${randomBytes(32).toString('base64url')}`,
    },
  })
  const warned = (...args: string[]) =>
    about(
      JSON.parse(here.run('doctor', '--json', '--port', '0', ...args).stdout) as Report,
      'operation',
    )?.warnings?.join(' ') ?? ''
  assert.match(warned(), /Receipts are off.*Metrics are off.*Backups are not checked/)
  const backups = join(here.folder, 'backups')
  mkdirSync(backups)
  assert.match(warned('--backups', backups), /has no backup/)
  const file = join(backups, 'one.backup')
  writeFileSync(file, '')
  assert.doesNotMatch(warned('--backups', backups), /backup/i)
  const twoDaysAgo = new Date(Date.now() - 48 * 3_600_000)
  utimesSync(file, twoDaysAgo, twoDaysAgo)
  assert.match(warned('--backups', backups), /newest backup in .* is 48 hours old/)
})
