/**
 * What an operator with Docker does by the guides: the blocks as they are, with the Docker of
 * Debian 13 and the files of `deploy`, in a container with SQLite, and then by Compose.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { must } from '../deploy/booted-machine.ts'
import { createTenant, type Entry, WITHIN_MS } from '../deploy/booted-parts.ts'
import { manageTenants } from '../deploy/booted-tenants.ts'
import { until } from '../harness/process.ts'
import { walkGuides } from '../samples/guide.ts'
import { ROOT } from './copy-repository.ts'
import { dockerMissing, startDocker } from './docker-machine.ts'

const INSTALL = 'operate/install.md'
const BACKUP = 'operate/backup.md'
/** The commands of the table in the guide, before those of `bonded`. */
const EXEC = 'docker exec bonded bonded'
const COMPOSE = 'docker compose --file deploy/compose.yaml'
const COMPOSE_EXEC = `${COMPOSE} exec bonded bonded`
const TOOLS = `${COMPOSE} run --rm tools`

test(
  'the guides install and operate the service with Docker',
  {
    skip: dockerMissing(),
    timeout: 3_000_000,
  },
  (t) =>
    walkGuides(import.meta.filename, async (take) => {
      await using machine = await startDocker()
      const { run } = machine
      /** Types a block into a shell in which `bonded` is this command, with the operator's name. */
      const typedBy = (by: string) => (user: string, block: string, input?: string | Buffer) =>
        run(
          `sudo() { "$@"; }
        bonded() { ${by.replace('exec ', `exec --env BONDED_OPERATOR=${user} `)} "$@"; }
        set -eu
        ${block}`,
          input,
        )
      const login = typedBy(EXEC.replace('exec', 'exec --interactive'))
      const healthy = (container: string) =>
        until(async () => {
          const state = await must(
            run(`docker inspect --format '{{.State.Health.Status}}' ${container}`),
          )
          return state === 'healthy\n' || undefined
        }, WITHIN_MS)
      const entriesOf = async (by: string) => {
        const listed = await must(typedBy(by)('alice', 'bonded audit list --json'))
        return (JSON.parse(listed) as { entries: readonly Entry[] }).entries
      }

      await t.test(
        'a container of the built image is healthy, and doctor finds no fault of it',
        async () => {
          const key = `k1:${randomBytes(32).toString('base64url')}`
          const started = await run(
            `export BONDED_ROOT_KEYS=${key}\n${take(INSTALL, 'docker build')}`,
          )
          await healthy('bonded').catch(() => assert.fail(started.stdout + started.stderr))
          const { stdout } = await login(
            'alice',
            listed(INSTALL, `${EXEC} tenant list`).replace('tenant list', 'doctor'),
          )
          // Its name of the origin does not resolve here.
          assert.deepEqual(stdout.match(/^PROBLEM +\S+ \S+/gm), ['PROBLEM  public origin'], stdout)
        },
      )

      await t.test('the bill of materials is in the image', async () => {
        await must(run(take('for-your-audit.md', 'docker create')))
        const bill = JSON.parse(await must(run('cat sbom.cdx.json')))
        assert.ok(bill.components.some(({ name }: { name: string }) => name === 'node'))
      })

      await t.test(
        'the audit log has the name that an operator states, and requires one',
        async () => {
          const rejected = await run(`${EXEC} ${createTenant('one')}`)
          assert.match(rejected.stderr, /belongs to no login.*--operator <name>/)
          await must(run(`${EXEC} ${createTenant('one')} --operator alice`))
          await must(login('bob', `bonded ${createTenant('two')}`))
          assert.deepEqual(
            (await entriesOf(EXEC)).map(({ actor, action }) => `${actor}: ${action}`),
            [
              'alice (stated by nonroot): tenant create',
              'bob (stated by nonroot): tenant create',
              'alice (stated by nonroot): audit list',
            ],
          )
        },
      )

      await manageTenants(t, {
        machine: { login },
        take,
        asRoot: (user, block) => login(user, block),
      })

      await t.test('a backup of the container is copied out of it', async () => {
        const [tenant] = JSON.parse(await must(run(`${EXEC} tenant list --json`)))
        await must(
          login(
            'alice',
            `TENANT=${tenant.tenant_id}\n${take('operate/metrics.md', 'bonded stats')}`,
          ),
        )
        for (const command of [
          `${EXEC} backup /data/<name>.backup`,
          'docker cp bonded:/data/<name>.backup .',
        ])
          await must(run(listed(BACKUP, command).replace('<name>', 'first')))
        assert.ok(Number(await must(run('stat --format %s first.backup'))) > 0)
        await must(run('docker stop --time 30 bonded && docker rm bonded'))
      })

      await t.test('Compose starts the service over PostgreSQL', async () => {
        const secret = () => randomBytes(24).toString('hex')
        const settings = readFileSync(join(ROOT, 'deploy/compose.env.example'), 'utf8')
          .replace(/^BONDED_ROOT_KEYS=$/m, `$&k1:${randomBytes(32).toString('base64url')}`)
          .replace(/^POSTGRES_PASSWORD=$/m, `$&${secret()}`)
          .replace(/^POSTGRES_OWNER_PASSWORD=$/m, `$&${secret()}`)
        await must(run('umask 077; cat > deploy/.env', settings))
        // Where root may not raise the limit of open files, the container gets that of the machine.
        const limit = 'nofile: 65536'
        assert.ok(readFileSync(join(ROOT, 'deploy/compose.yaml'), 'utf8').includes(limit))
        const lower = `sed -i "s/${limit}/nofile: $(ulimit -Hn)/" deploy/compose.yaml`
        await must(run(`(ulimit -n 65536) 2> /dev/null || ${lower}`))
        await must(run(take(INSTALL, 'up --build')))
        await healthy('bonded-bonded-1')
        await must(run(`${listed(INSTALL, `${COMPOSE_EXEC} tenant list`)} --json`))
        await must(typedBy(COMPOSE_EXEC)('alice', `bonded ${createTenant('three')}`))
      })

      await t.test(
        'the tools of Compose back up and restore, and the former database stays',
        async () => {
          await must(
            run(listed(BACKUP, 'install --directory --owner 65532 --mode 0700 deploy/backups')),
          )
          listed(BACKUP, `${TOOLS} backup /backups/<name>.backup`)
          await must(typedBy(TOOLS)('alice', take(BACKUP, 'bonded backup')))
          await must(typedBy(COMPOSE_EXEC)('alice', `bonded ${createTenant('lost')}`))
          await must(run(take(BACKUP, 'alter database')))
          await healthy('bonded-bonded-1')
          const names = async (database: string) =>
            must(
              run(`${COMPOSE} exec postgres psql -Atqd ${database} -U postgres \\
            --command="select string_agg(name, ',' order by name) from tenant"`),
            )
          assert.deepEqual(
            [await names('bonded'), await names('bonded_replaced')],
            ['three\n', 'lost,three\n'],
          )
          const restored = (await entriesOf(COMPOSE_EXEC)).find(
            ({ action }) => action === 'restore',
          )
          assert.deepEqual(
            [restored?.actor.replace(/by .*/, 'by'), restored?.result],
            ['alice (stated by', 'success'],
          )
        },
      )
    }),
)

/** A command of a table of a guide. */
function listed(guide: string, command: string): string {
  const text = readFileSync(join(ROOT, 'docs/guides', guide), 'utf8')
  assert.ok(text.includes(`\`${command}\``), command)
  return command
}
