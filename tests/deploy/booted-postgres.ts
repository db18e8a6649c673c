import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { until } from '../harness/process.ts'
import { type BootedMachine, must } from './booted-machine.ts'
import { AUTHORITY, createTenant, during, type Operated, WITHIN_MS } from './booted-parts.ts'

const OWNER_PASSWORD = 'owner-1f0c7a'
const NODE_PASSWORD = 'node-83b2de'
const urlOf = (role: string, password: string) =>
  `postgres://${role}:${password}@localhost:5432/bonded?sslrootcert=${AUTHORITY}`
const OWNER_URL = urlOf('bonded_owner', OWNER_PASSWORD)
const PASSWORDS = { OWNER_PASSWORD, NODE_PASSWORD }
const GUIDE = 'postgresql.md'

/** The service on PostgreSQL over TLS, by its guide, after one on SQLite. */
export async function moveToPostgres(
  t: TestContext,
  { machine, take, asRoot, ready, entriesAfter, actorOf }: Operated,
  rootKey: string,
): Promise<{ readonly secrets: Readonly<Record<string, string>>; readonly processes: string }> {
  const { run, login } = machine
  const superuser = (statements: string) =>
    must(run('cd /; runuser -u postgres -- psql -Atqv ON_ERROR_STOP=1', statements))
  const setUp = take(GUIDE, 'create role', PASSWORDS)
  let processes = ''

  await t.test('PostgreSQL is reached by TLS, and migrated by the role of its owner', async () => {
    await serveByTls(machine)
    await superuser(setUp)
    await superuser(take(GUIDE, 'alter role'))
    // Another service: the folder has the checkpoint of the one before.
    await must(run('systemctl stop bonded.socket bonded-audit bonded-console bonded-ciba'))
    await must(run('rm -r /var/lib/bonded/*'))
    const migrate = take('operate/install.md', 'read -rs BONDED_DATABASE_URL')
    const seen = await watched(machine, () => must(login('alice', migrate, `${OWNER_URL}\n`)))
    processes = seen.processes
    assert.match(seen.result, /The role bonded has the rights of a node\./)
    assert.match(processes, /migrate\0up\0--runtime-role\0bonded/)
    await must(asRoot('bob', take(GUIDE, 'bonded_owner:', PASSWORDS)))
    const serve = take(GUIDE, 'bonded serve', { ...PASSWORDS, SECRET_KEY: rootKey.slice(3) })
    await during(machine, { block: serve }, async () => void (await ready()))
    const url = urlOf('bonded', NODE_PASSWORD)
    await must(run(`echo 'BONDED_DATABASE_URL=${url}' >> /etc/bonded/bonded.env`))
    await must(run('systemctl start bonded'))
    await ready()
    const encrypted = await superuser(`select bool_and(ssl) from pg_stat_ssl
      join pg_stat_activity using (pid) where application_name = 'bonded'`)
    assert.equal(encrypted, 't\n')

    const create = `sudo bonded ${createTenant('six')}`
    const { tenant_id: id } = JSON.parse(await must(login('alice', create))) as {
      tenant_id: string
    }
    await must(login('alice', `sudo bonded tenant suspend ${id}`))
    const remove = `tenant remove ${id} --name six`
    const refused = await login('alice', `sudo bonded ${remove}`)
    assert.match(refused.stderr, /needs the role that owns the database/)
    const asOwner = migrate.replace('migrate up --runtime-role bonded', remove)
    await must(login('bob', asOwner, `${OWNER_URL}\n`))
    const removals = (await entriesAfter(0)).filter(({ action }) => action === 'tenant remove')
    assert.deepEqual(
      removals.map(({ actor, result }) => [actor, result]),
      [
        [actorOf('alice'), 'database_access_denied'],
        [actorOf('bob'), 'success'],
      ],
    )
  })

  await t.test('the statement of the runbook names the session that holds a lock', async () => {
    const inDatabase = (statements: string) => superuser(`\\connect bonded\n${statements}`)
    const holding = assert.rejects(
      inDatabase('begin; lock table tenant; select pg_sleep(600)'),
      /terminating connection due to administrator command/,
    )
    const waiting = inDatabase('select count(*) from tenant')
    const statement = take('operate/alerts.md', 'pg_blocking_pids')
    const [pid = ''] = await until(async () => {
      const held = await superuser(statement)
      return /^(\d+)\|postgres\|psql\|active\|/.exec(held)?.slice(1)
    }, WITHIN_MS)
    await superuser(`select pg_terminate_backend(${pid})`)
    assert.equal(await waiting, '0\n')
    await holding
  })

  await t.test('a URL with two servers leads to the primary', async () => {
    await must(
      run(`cd /var/lib/postgresql
      pg_createcluster --port 6432 15 standby
      rm -r 15/standby/*
      runuser -u postgres -- pg_basebackup --checkpoint fast --write-recovery-conf --pgdata 15/standby
      cp /etc/postgresql/15/main/conf.d/tls.conf /etc/postgresql/15/standby/conf.d
      pg_ctlcluster 15 standby start`),
    )
    const found = await asRoot('alice', take(GUIDE, 'db-2.example', PASSWORDS))
    assert.match(found.stdout, /^ok +database /m, found.stdout + found.stderr)
    assert.equal(found.status, 0, found.stdout)
  })

  await t.test('the guide backs PostgreSQL up and restores it', async () => {
    await must(asRoot('alice', take(GUIDE, 'bonded backup')))
    await must(run('systemctl stop bonded.socket; ! systemctl is-active bonded'))
    const create = setUp.slice(setUp.indexOf('create database'))
    await superuser(`alter database bonded rename to bonded_before;\n${create}`)
    const owner = `export BONDED_DATABASE_URL='${OWNER_URL}'\n`
    await must(asRoot('bob', `${owner}${take(GUIDE, 'bonded restore')}`))
    await must(run('systemctl start bonded'))
    await ready()
    const restored = (await entriesAfter(0)).find(({ action }) => action === 'restore')
    assert.deepEqual([restored?.actor, restored?.result], [actorOf('bob'), 'success'])
  })
  return { secrets: PASSWORDS, processes }
}

/** The certificate of the machine, for the server. */
async function serveByTls({ run }: BootedMachine): Promise<void> {
  await must(
    run(`cd /var/lib/postgresql
    install -o postgres -m 0600 /etc/ssl/server.crt /etc/ssl/server.key .
    cd /etc/postgresql/*/main/conf.d; cat > tls.conf <<'END'
ssl = on
ssl_cert_file = '/var/lib/postgresql/server.crt'
ssl_key_file = '/var/lib/postgresql/server.key'
END
    systemctl restart postgresql@*`),
  )
}

/** Runs `work`, and returns the arguments of all processes of the machine meanwhile. */
async function watched<T>(
  { run }: BootedMachine,
  work: () => Promise<T>,
): Promise<{ result: T; processes: string }> {
  const watching = run(`touch /run/watch
    while [ -e /run/watch ]; do cat /proc/[0-9]*/cmdline >> /run/seen 2> /dev/null || true; done`)
  const result = await work()
  await must(run('rm /run/watch'))
  await must(watching)
  return { result, processes: await must(run('cat /run/seen')) }
}
