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
import { walkGuides } from '../samples/guide.ts'
import { bootMachine, bootMissing, must } from './booted-machine.ts'
import { createTenant, type Entry, type Operated, WITHIN_MS } from './booted-parts.ts'
import { moveToPostgres } from './booted-postgres.ts'
import { manageTenants } from './booted-tenants.ts'
import { serveUsers } from './booted-users.ts'

const skip = bootMissing()
const INSTALL = 'operate/install.md'
const bonded = (words: string) => `sudo bonded ${words}`

test(
  'the guides install and operate the service on a booted Debian',
  {
    skip,
    timeout: 3_000_000,
  },
  (t) =>
    walkGuides(import.meta.filename, async (take) => {
      const work = mkdtempSync(join(tmpdir(), 'bonded-boot-tarball-'))
      after(() => rmSync(work, { recursive: true, force: true }))
      const tarball = readFileSync(await packTarball(work, take(INSTALL, 'pack:linux')))
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
      const operated: Operated = {
        machine,
        take,
        ready,
        entriesAfter,
        actorOf: (user) => `${user} (uid ${uid[user]})`,
        asRoot: (user, block, variables = {}) => {
          const given = Object.entries(variables).map((pair) => `${pair.join('=')} `)
          return login(user, `sudo ${given.join('')}bash -eu`, block)
        },
      }
      const { asRoot, actorOf } = operated
      let rootKey = ''

      await t.test('the guide installs it, and the service gets ready', async () => {
        await must(run(`cat > bonded-0-linux-x64.tar.gz\n${take(INSTALL, 'tar -xzf')}`, tarball))
        await must(run('cat > /etc/bonded/bonded.yaml', take(INSTALL, 'public_origin:')))
        await must(run(take(INSTALL, 'genpkey')))
        await must(run(take(INSTALL, 'enable --now bonded')))
        await ready()
        rootKey = /k1:.+/.exec(await must(run('cat /etc/bonded/bonded.env')))?.[0] ?? ''
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
            [actorOf('alice'), '127.0.0.1', 'tenant create'],
            [actorOf('bob'), '127.0.0.1', 'tenant create'],
            [`${actorOf('bob')} without a session`, host, 'tenant create'],
            ['carol (stated by bonded)', host, 'tenant create'],
            [actorOf('alice'), '127.0.0.1', 'audit list'],
          ],
        )
      })

      await t.test('a file in a home passes by the shell of the operator', async () => {
        const applied = await must(login('bob', `umask 077\n${take(INSTALL, 'bonded export')}`))
        assert.match(applied, /^ten_\w+  one: unchanged$/m)
        const unread = await login('bob', 'sudo bonded apply --plan -f tenants.yaml')
        assert.match(unread.stderr, /cannot be read by this account.*-, and add < tenants\.yaml/)
        const workflows = JSON.stringify([{ name: 'pay', actions: ['pay_invoice'] }])
        const words = createTenant('five').replace('w:a', 'v:a')
        await must(login('bob', bonded(`${words} --workflow-file -`), workflows))
      })

      await manageTenants(t, operated)
      await serveUsers(t, operated)

      await t.test('the guide backs up and restores', async () => {
        await must(login('alice', 'sudo install -d -m 0700 -o bonded -g bonded /backups'))
        await must(asRoot('alice', take('operate/backup.md', 'bonded backup')))
        await must(run('systemctl stop bonded.socket; ! systemctl is-active bonded'))
        await must(asRoot('alice', take('operate/backup.md', 'bonded restore')))
        await must(run('systemctl start bonded'))
        await ready()
        const [entry] = (await entriesAfter(0)).filter(({ action }) => action === 'restore')
        assert.deepEqual([entry?.actor, entry?.result], [actorOf('alice'), 'success'])
        const metric = '/var/lib/prometheus/node-exporter/bonded-backup.prom'
        await must(run(`mkdir -p ${metric.replace(/\/[^/]+$/, '')}`))
        for (const backUp of [
          'systemctl start bonded-backup',
          take('operate/alerts.md', 'date +%F'),
        ]) {
          await must(asRoot('alice', backUp))
          assert.match(
            await must(run(`cat ${metric}; rm ${metric}`)),
            /^backup_last_success_timestamp_seconds\{job="bonded-backup"\} \d+$/m,
          )
        }
      })

      await t.test('the audit log reaches a file for a SIEM', async () => {
        await must(run(take('operate/audit.md', 'bonded-audit')))
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
        const verify = take('operate/audit.md', 'audit verify')
        const verified = await must(asRoot('alice', `cd /tmp\n${verify}`))
        assert.match(verified, /^The log continues your checkpoint\.$/m)
        const [tenant] = JSON.parse(await must(login('alice', bonded('tenant list --json')))) as [
          { readonly tenant_id: string },
        ]
        const count = take('operate/metrics.md', 'bonded stats')
        await must(asRoot('alice', count, { TENANT: tenant.tenant_id }))
      })

      await t.test('no call is lost while the service restarts', async () => {
        const restarted = run('systemctl restart bonded')
        const calls = `for call in $(seq 100); do
        curl -s -o /dev/null -w '%{http_code}\\n' http://127.0.0.1:8787/health/alive; done`
        assert.deepEqual(new Set((await must(run(calls))).trim().split('\n')), new Set(['200']))
        await must(restarted)
        await ready()
      })

      await t.test('a wrong setting ends the service once, whatever calls it', async () => {
        const config = '/etc/bonded/bonded.yaml'
        await must(run(`cp ${config} /run/right.yaml; echo 'port: none' >> ${config}`))
        await must(run('systemctl restart bonded'))
        // It waits in the queue of the socket, unless the service has ended already.
        await run('curl -s http://127.0.0.1:8787/health/alive')
        await until(async () => {
          const { stdout } = await run('systemctl is-active bonded bonded.socket || true')
          return stdout === 'failed\ninactive\n' || undefined
        }, WITHIN_MS)
        const log = await must(run('journalctl --no-pager --output=cat --unit=bonded'))
        assert.equal(log.split('error: The configuration is invalid').length - 1, 1, log)
        await must(run(`cp /run/right.yaml ${config}; systemctl start bonded`))
        await ready()
      })

      const { secrets, processes } = await moveToPostgres(t, operated, rootKey)

      await t.test(
        'no secret is in an argument, a property of a unit, or the journal',
        async () => {
          const properties = await must(run("systemctl show '*'"))
          const journal = await must(run('journalctl --no-pager --output=export'))
          assert.match(journal, /COMMAND=.*bonded audit list/)
          const receiptKey = (await must(run('sed -n 2p /etc/bonded/receipt-keys.pem'))).trim()
          const places = { processes, properties, journal }
          const shown = Object.entries({ ...secrets, rootKey, receiptKey }).flatMap(
            ([name, secret]) =>
              Object.entries(places)
                .filter(([, text]) => secret === '' || text.includes(secret))
                .map(([place]) => `${name} in the ${place}`),
          )
          assert.deepEqual(shown, [])
        },
      )

      await t.test(
        'the root keys come from a program, which a key of age decrypts for',
        async () => {
          await must(asRoot('alice', take(INSTALL, 'age-keygen')))
          await ready()
          assert.ok(!(await must(run('cat /etc/bonded/bonded.env'))).includes(rootKey))
          assert.match(await must(run('bonded doctor')), /^ok +root keys +Active key: k1\.$/m)
        },
      )
    }),
)
