import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { MIGRATIONS } from '../../../store/src/migrations/migrations.ts'
import { openConnection, startPostgres } from '../../../store/tests/servers/postgres.ts'
import { CREATE_TENANT, machine, until } from '../../../../tests/harness/process.ts'
import { freePort } from '../../../store/tests/servers/free-port.ts'

/** The other tests open their stores with the run-time role, too: `test-database.ts`. */

const WITHIN_MS = 30_000
// The version of a distribution, with its client programs.
const programs = globSync('/usr/lib/postgresql/*/bin/postgres').map(dirname).toSorted().at(-1)
const skip = programs === undefined && 'no PostgreSQL of Debian: apt-get install postgresql'
if (programs !== undefined) process.env.TEST_POSTGRES_BIN = programs
const server = await startPostgres()
after(() => server[Symbol.asyncDispose]())
const url = await server.newDatabase()
const urlOf = (role: string) => {
  const of = new URL(url)
  of.username = role
  return of.href
}
const port = String(await freePort())
const ROLE = 'bonded'
const OWNER = 'bonded_owner'
const env = {
  BONDED_ROOT_KEYS: `k1:${randomBytes(32).toString('base64url')}`,
  // `doctor` looks at the service through it.
  BONDED_PORT: port,
  BONDED_PUBLIC_ORIGIN: `http://localhost:${port}`,
}
const ownerEnv = { ...env, BONDED_DATABASE_URL: urlOf(OWNER) }
const owner = machine({ env: ownerEnv })
const node = machine({ env: { ...env, BONDED_DATABASE_URL: urlOf(ROLE) } })
after(() => {
  owner[Symbol.dispose]()
  node[Symbol.dispose]()
})
const name = new URL(url).pathname.slice(1)
// The statements of the guide, apart from passwords and the creation of the database.
await server.run(
  `create role ${OWNER} login; create role ${ROLE} login; alter database ${name} owner to ${OWNER};
   revoke all on database ${name} from public; grant connect on database ${name} to ${ROLE}`,
)
const MIGRATE = ['migrate', 'up', '--runtime-role', ROLE] as const

test('a node waits, alive and not ready, until another role has migrated the database', {
  timeout: 120_000,
}, async () => {
  const command = node.run('tenant', 'list')
  assert.equal(command.status, 1)
  assert.match(
    command.stderr,
    /is not ready for this version: it lacks the migration 1, and the role bonded may not change the schema\..* bonded migrate up --runtime-role bonded/,
  )
  const serving = node.serve()
  const ask = (path: string) => fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined)
  const alive = await until(() => ask('/health/alive'), WITHIN_MS)
  assert.equal(alive.status, 200)
  const ready = (await (await ask('/health/ready'))?.json()) as { error: { unready: string[] } }
  assert.deepEqual(ready.error.unready, ['migrations_pending'])

  const { applied, runtime_role } = await owner.jsonMeanwhile(...MIGRATE)
  assert.deepEqual([applied.length, runtime_role], [MIGRATIONS.length, ROLE])
  await using service = await serving
  assert.match(service.output(), /"msg":"the database is not migrated for this version/)
  const tenant = await node.jsonMeanwhile(...CREATE_TENANT)
  const created = await fetch(`${service.origin}/api/v1/sessions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.server_credential}` },
  })
  assert.equal(created.status, 201)
  const { findings } = await node.jsonMeanwhile('doctor')
  const { ok, says } = findings.find(({ check }: { check: string }) => check === 'database')
  assert.equal(ok, true, says)
  assert.match(says, /The role bonded can change rows only\.$/)
})

test('the owner of the database rewrites its tables, and the role of the nodes may not', () => {
  const rejected = node.run('vacuum')
  assert.equal(rejected.status, 1)
  assert.match(rejected.stderr, /cannot be rewritten by this role\. Run the command with the role/)
  assert.deepEqual(owner.json('vacuum'), { vacuumed: true })
})

test('the owner of the database removes a tenant, and the role of the nodes may not', () => {
  const { tenant_id: id } = node.json(...CREATE_TENANT, '--allow-similar-name')
  node.json('tenant', 'suspend', id)
  const removal = ['tenant', 'remove', id, '--name', 'A'] as const
  const rejected = node.run(...removal)
  assert.equal(rejected.status, 1)
  assert.match(
    rejected.stderr,
    /permission denied for table .* Nothing was changed\..* needs the role that owns the database/,
  )
  assert.deepEqual(owner.json(...removal), { removed: id })
  const { entries } = owner.json('audit', 'list', '--action', 'tenant remove')
  assert.deepEqual(
    entries.map(({ result, tenant_id }: Record<string, string>) => [result, tenant_id]),
    [
      ['database_access_denied', id],
      ['success', id],
    ],
  )
})

const FORBIDDEN = [
  'alter table session add column other text',
  'drop table session',
  'truncate session_event',
  'create table other (id int)',
  'create index other on session (id)',
  "create function f() returns int language sql as 'select 1'",
  'create temporary table other (id int)',
  'create schema other',
  "update migration set checksum = ''",
  "insert into migration values (99, '', '', 0, true)",
  "update session_event set kind = 'forged'",
  'delete from tenant',
  `set role ${OWNER}`,
  `reassign owned by ${OWNER} to ${ROLE}`,
] as const

test('the run-time role cannot change the schema, the migrations, or stored events', async () => {
  await using connection = await openConnection(urlOf(ROLE))
  for (const sql of FORBIDDEN)
    await assert.rejects(connection.run(sql), /permission denied|must be owner|must be able/, sql)
})

test('the run-time role has rights on every table, and only those that the migration gives it', async () => {
  const tables = await server.run(
    `select relname as table from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
     and not has_table_privilege('${ROLE}', oid, 'select')`,
    url,
  )
  assert.deepEqual(tables, [])
  await server.run(`grant truncate, delete on migration to ${ROLE}`, url)
  owner.json(...MIGRATE)
  const [rights] = await server.run(
    `select has_table_privilege('${ROLE}', 'migration', 'truncate, delete') as more`,
    url,
  )
  assert.deepEqual(rights, { more: false })
})

test('a command names the table on which its role lacks rights', async () => {
  await server.run(`revoke insert on session from ${ROLE}`, url)
  const { error } = JSON.parse(node.run('tenant', 'list', '--json').stderr)
  assert.equal(error.code, 'database_not_migrated')
  assert.match(error.message, /the role bonded lacks rights on session\./)
  owner.json(...MIGRATE)
  node.json('tenant', 'list')
})

test('migrate up rejects a run-time role that does not exist, or could change the schema', async () => {
  const rejection = (role: string) => {
    const { error } = JSON.parse(
      owner.run('migrate', 'up', '--runtime-role', role, '--json').stderr,
    )
    assert.equal(error.code, 'database_unsuitable')
    return error.message as string
  }
  assert.match(rejection('absent'), /the role absent does not exist/)
  assert.match(rejection(OWNER), /has all rights of the role that migrates/)
  assert.match(rejection('postgres'), /has all rights of the role that migrates/)
  await server.run(`grant create on schema public to ${ROLE}`, url)
  assert.match(rejection(ROLE), /can create tables in the schema public/)
  await server.run(`revoke create on schema public from ${ROLE}`, url)
})

test('the run-time role can back up the database', { skip }, () => {
  const { bytes } = node.json(
    'backup',
    join(node.folder, 'b.backup'),
    '--postgres-bin',
    programs ?? '',
  )
  assert.ok(bytes > 0)
})
