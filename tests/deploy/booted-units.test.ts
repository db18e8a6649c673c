/**
 * What an operator without Docker does by the guides, on a Debian that systemd has booted: the
 * blocks of the guides as they are, with the tarball, two users who sign in over SSH, and
 * PostgreSQL over TLS.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { packTarball } from '../machines/copy-repository.ts'
import { until } from '../harness/process.ts'
import { samplesOf } from '../samples/samples.ts'
import { type BootedMachine, bootMachine, bootMissing, must } from './booted-machine.ts'

const skip = bootMissing()
const LABEL = 'run by tests/deploy/booted-units.test.ts'
const WITHIN_MS = 300_000

/** The blocks of a guide that this file runs. */
const blocksOf = (guide: string) =>
  samplesOf(`docs/guides/${guide}`).flatMap(({ label, code }) => (label === LABEL ? [code] : []))
const [unpack = '', writeSecrets = '', start = '', migrate = '', copy = ''] =
  blocksOf('operate/install.md')
const [backUp = '', restore = ''] = blocksOf('operate/backup.md')
const [verifyAudit = '', exportAudit = ''] = blocksOf('operate/audit.md')
const [countSessions = ''] = blocksOf('operate/metrics.md')

const OWNER_PASSWORD = 'owner-1f0c7a'
const NODE_PASSWORD = 'node-83b2de'
const urlOf = (role: string, password: string) =>
  `postgres://${role}:${password}@localhost:5432/bonded?sslrootcert=/etc/bonded/db-ca.pem`
const OWNER_URL = urlOf('bonded_owner', OWNER_PASSWORD)

interface Entry {
  readonly actor: string
  readonly address: string
  readonly action: string
  readonly result: string
}

const bonded = (words: string) => `sudo bonded ${words}`
const createTenant = (name: string) =>
  `tenant create --name ${name} --environment sandbox --origin https://${name}.example --workflow w:a --json`

test('the guides install and operate the service on a booted Debian', {
  skip,
  timeout: 3_000_000,
}, async (t) => {
  const work = mkdtempSync(join(tmpdir(), 'bonded-boot-tarball-'))
  after(() => rmSync(work, { recursive: true, force: true }))
  const tarball = readFileSync(await packTarball(work))
  await using machine = await bootMachine(['alice', 'bob'])
  const { run, login } = machine
  const uid = Object.fromEntries(
    await Promise.all(
      ['alice', 'bob'].map(async (user) => [user, (await must(run(`id -u ${user}`))).trim()]),
    ),
  ) as Record<string, string>
  const entriesAfter = async (number: number) => {
    const listed = await must(login('alice', bonded(`audit list --after ${number} --json`)))
    return (JSON.parse(listed) as { entries: readonly Entry[] }).entries
  }
  const ready = () =>
    until(async () => {
      const { status } = await run('curl -fs http://127.0.0.1:8787/health/ready')
      return status === 0 || undefined
    }, WITHIN_MS)

  await t.test('the guide installs it, and the service gets ready', async () => {
    await must(run(`cat > bonded-0-linux-x64.tar.gz\n${unpack}`, tarball))
    const yaml = samplesOf('docs/guides/operate/install.md').find((one) => one.language === 'yaml')
    await must(run('cat > /etc/bonded/bonded.yaml', yaml?.code))
    await must(run(writeSecrets))
    await must(run(start))
    await ready()
    // Its name of the origin does not resolve here, which doctor reports too.
    const { stdout } = await run('bonded doctor')
    assert.deepEqual(stdout.match(/^PROBLEM +\S+ \S+/gm), ['PROBLEM  public origin'])
    assert.match(stdout, /^ok +service +The service on 127\.0\.0\.1:8787 is ready\.$/m)
  })

  await t.test('the audit log tells two operators apart, whatever they claim', async () => {
    await must(login('alice', bonded(createTenant('one'))))
    const claims = "SUDO_USER=eve LOGNAME=eve SSH_CONNECTION='203.0.113.7 1 203.0.113.8 22'"
    await must(login('bob', `export ${claims}; sudo -E bonded ${createTenant('two')}`))
    // As at a console without PAM, where only sudo knows the user.
    await must(run(`SUDO_UID=${uid['bob']} bonded ${createTenant('three')}`))
    const rejected = await run(`bonded ${createTenant('four')}`)
    assert.match(rejected.stderr, /belongs to no login.*--operator <name>/)
    await must(run(`bonded ${createTenant('four')} --operator carol`))
    const entries = await entriesAfter(0)
    const [host = ''] = (await must(run('hostname'))).split('\n')
    assert.deepEqual(
      entries.map(({ actor, address, action }) => [actor, address, action]),
      [
        [`alice (uid ${uid['alice']})`, '127.0.0.1', 'tenant create'],
        [`bob (uid ${uid['bob']})`, '127.0.0.1', 'tenant create'],
        [`bob (uid ${uid['bob']}) without a session`, host, 'tenant create'],
        ['carol (stated by bonded)', host, 'tenant create'],
        [`alice (uid ${uid['alice']})`, '127.0.0.1', 'audit list'],
      ],
    )
  })

  await t.test('a file in a home passes by the shell of the operator', async () => {
    const applied = await must(login('bob', `umask 077\n${copy}`))
    assert.match(applied, /^ten_\w+  one: unchanged$/m)
    const unread = await login('bob', 'sudo bonded apply --plan -f tenants.yaml')
    assert.match(unread.stderr, /cannot be read by this account.*-, and add < tenants\.yaml/)
    const workflows = JSON.stringify([{ name: 'pay', actions: ['pay_invoice'] }])
    const words = createTenant('five').replace('w:a', 'v:a')
    await must(login('bob', bonded(`${words} --workflow-file -`), workflows))
  })

  await t.test('the guide backs up and restores', async () => {
    await must(login('alice', 'sudo install -d -m 0700 -o bonded -g bonded /backups'))
    await must(login('alice', `sudo bash -eu -c '${backUp}'`))
    await must(run('systemctl stop bonded.socket; ! systemctl is-active bonded'))
    await must(login('alice', `sudo bash -eu -c '${restore}'`))
    await must(run('systemctl start bonded'))
    await ready()
    const [entry] = (await entriesAfter(0)).filter(({ action }) => action === 'restore')
    assert.deepEqual([entry?.actor, entry?.result], [`alice (uid ${uid['alice']})`, 'success'])
    await must(run('mkdir -p /var/lib/prometheus/node-exporter; systemctl start bonded-backup'))
    assert.match(
      await must(run('cat /var/lib/prometheus/node-exporter/bonded-backup.prom')),
      /^backup_last_success_timestamp_seconds\{job="bonded-backup"\} \d+$/m,
    )
  })

  await t.test('the audit log reaches a file for a SIEM', async () => {
    await must(run(exportAudit))
    const lines = await until(async () => {
      const { stdout } = await run('cat /var/log/bonded/audit.jsonl')
      return stdout.includes('"restore"') ? stdout : undefined
    }, WITHIN_MS)
    assert.match(lines, new RegExp(`"name":"alice \\(uid ${uid['alice']}\\)"`))
    const mode = await must(run('stat -c "%a %G" /var/log/bonded /var/log/bonded/audit.jsonl'))
    assert.equal(mode, '750 bonded\n640 bonded\n')
    await until(async () => {
      const { status } = await run(
        'curl -fs http://127.0.0.1:8787/receipts/log/checkpoint > /tmp/2026-03-01.checkpoint',
      )
      return status === 0 || undefined
    }, WITHIN_MS)
    const verified = await must(login('alice', `cd /tmp; sudo bash -eu -c '${verifyAudit}'`))
    assert.match(verified, /^The log continues your checkpoint\.$/m)
    const [tenant] = JSON.parse(await must(login('alice', bonded('tenant list --json')))) as [
      { readonly tenant_id: string },
    ]
    const count = `sudo TENANT=${tenant.tenant_id} bash -eu -c '${countSessions}'`
    await must(login('alice', count))
  })

  await t.test('no call is lost while the service restarts', async () => {
    const restarted = run('systemctl restart bonded')
    const calls = `for call in $(seq 100); do
      curl -s -o /dev/null -w '%{http_code}\\n' http://127.0.0.1:8787/health/alive; done`
    assert.deepEqual(new Set((await must(run(calls))).trim().split('\n')), new Set(['200']))
    await must(restarted)
    await ready()
  })

  await t.test('PostgreSQL is reached by TLS, and migrated by the role of its owner', async () => {
    await servePostgres(machine)
    // Another service: the folder has the checkpoint of the one before.
    await must(run('systemctl stop bonded.socket bonded-audit; rm -r /var/lib/bonded/*'))
    await must(
      run(`echo 'BONDED_DATABASE_URL=${urlOf('bonded', NODE_PASSWORD)}' >> /etc/bonded/bonded.env`),
    )
    const seen = await watched(machine, () => must(login('alice', migrate, `${OWNER_URL}\n`)))
    assert.match(seen.result, /The role bonded has the rights of a node\./)
    assert.match(seen.processes, /migrate\0up\0--runtime-role\0bonded/)
    await must(run('systemctl restart bonded'))
    await ready()
    const encrypted = await must(
      run(`runuser -u postgres -- psql -Atc "select bool_and(ssl) from pg_stat_ssl
        join pg_stat_activity using (pid) where application_name = 'bonded'"`),
    )
    assert.equal(encrypted, 't\n')

    const { tenant_id: id } = JSON.parse(
      await must(login('alice', bonded(createTenant('six')))),
    ) as { tenant_id: string }
    await must(login('alice', bonded(`tenant suspend ${id}`)))
    const remove = `tenant remove ${id} --name six`
    const refused = await login('alice', bonded(remove))
    assert.match(refused.stderr, /needs the role that owns the database/)
    const asOwner = migrate.replace('migrate up --runtime-role bonded', remove)
    await must(login('bob', asOwner, `${OWNER_URL}\n`))
    const removals = (await entriesAfter(0)).filter(({ action }) => action === 'tenant remove')
    assert.deepEqual(
      removals.map(({ actor, result }) => [actor, result]),
      [
        [`alice (uid ${uid['alice']})`, 'database_access_denied'],
        [`bob (uid ${uid['bob']})`, 'success'],
      ],
    )

    const properties = await must(run("systemctl show '*'"))
    const journal = await must(run('journalctl --no-pager --output=export'))
    assert.match(journal, /COMMAND=.*bonded audit list/)
    const [rootKey = ''] = /k1:(.+)/.exec(await must(run('cat /etc/bonded/bonded.env'))) ?? []
    const receiptKey = (await must(run('sed -n 2p /etc/bonded/receipt-keys.pem'))).trim()
    const secrets = { OWNER_PASSWORD, NODE_PASSWORD, rootKey, receiptKey }
    const places = { processes: seen.processes, properties, journal }
    const shown = Object.entries(secrets).flatMap(([name, secret]) =>
      Object.entries(places)
        .filter(([, text]) => secret === '' || text.includes(secret))
        .map(([place]) => `${name} in the ${place}`),
    )
    assert.deepEqual(shown, [])
  })
})

/** A server with the roles of the guide, whose certificate is from an authority of its own. */
async function servePostgres({ run }: BootedMachine): Promise<void> {
  await must(
    run(`cd /etc/bonded
    openssl req -x509 -newkey rsa:2048 -nodes -keyout /root/ca.key -out db-ca.pem -subj /CN=ca -days 2
    openssl req -x509 -newkey rsa:2048 -nodes -keyout /var/lib/postgresql/server.key \\
      -CA db-ca.pem -CAkey /root/ca.key -out /var/lib/postgresql/server.crt -days 2 \\
      -subj /CN=localhost -addext subjectAltName=DNS:localhost -addext basicConstraints=CA:FALSE
    chown postgres /var/lib/postgresql/server.*
    chmod 0644 db-ca.pem
    cd /etc/postgresql/*/main/conf.d; cat > tls.conf <<'END'
ssl = on
ssl_cert_file = '/var/lib/postgresql/server.crt'
ssl_key_file = '/var/lib/postgresql/server.key'
END
    systemctl restart postgresql@*`),
  )
  const [setUp = ''] = samplesOf('docs/guides/postgresql.md').flatMap(({ language, code }) =>
    language === 'sql' ? [code] : [],
  )
  const passwords = [OWNER_PASSWORD, NODE_PASSWORD]
  const statements = setUp.replaceAll('…', () => passwords.shift() ?? '')
  await must(run('runuser -u postgres -- psql -v ON_ERROR_STOP=1', statements))
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
