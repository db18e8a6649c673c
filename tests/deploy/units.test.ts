import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { RUNTIME_FLAGS } from '../../packages/service/bin/runtime-flags.js'
import { parse } from 'yaml'
import { readConfig } from '../../packages/server/src/settings/config.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const SYSTEMD = join(ROOT, 'deploy/systemd')
const UNIT = join(SYSTEMD, 'bonded.service')
const ROOT_KEY = 'k1:AbCdEfGhIjKlMnOpQrStUvWxYz012345678-_aBcDeE'

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0

test('systemd accepts the units, and rates the exposure of each service below 1.5 of 10', {
  skip: !hasSystemd && 'no systemd-analyze (apt-get install systemd)',
}, () => {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-unit-'))
  try {
    const node = join(folder, 'node')
    writeFileSync(node, '#!/bin/sh\n')
    chmodSync(node, 0o755)
    const units = [
      'bonded.service',
      'bonded-backup.service',
      'bonded-audit.service',
      'bonded-console.service',
      'bonded-ciba.service',
      'bonded-backup.timer',
      'bonded.socket',
    ].map((name) => {
      const unit = join(folder, name)
      const text = readFileSync(join(SYSTEMD, name), 'utf8')
      writeFileSync(unit, text.replace('/opt/bonded/node ', `${node} `))
      return unit
    })
    const verified = spawnSync('systemd-analyze', ['verify', ...units], { encoding: 'utf8' })
    assert.deepEqual([verified.status, verified.stderr], [0, ''])
    for (const unit of units.filter((path) => path.endsWith('.service'))) {
      const rated = spawnSync(
        'systemd-analyze',
        ['security', '--offline=true', '--threshold=15', unit],
        { encoding: 'utf8' },
      )
      assert.equal(rated.status, 0, rated.stdout.split('\n').slice(-3).join('\n'))
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('each unit and the command have the account, the settings, and the data of the service', () => {
  const read = (name: string) => readFileSync(join(SYSTEMD, name), 'utf8')
  const OWN =
    /^(?:Environment=(?!BONDED_DRAIN|NODE_COMPILE)|(?=User=|DynamicUser=|EnvironmentFile=))(.+)$/gm
  const settingsOf = (name: string) => [...read(name).matchAll(OWN)].map(([, found = '']) => found)
  const service = [
    'User=bonded',
    'EnvironmentFile=/etc/bonded/bonded.env',
    'NODE_ENV=production',
    'BONDED_CONFIG=/etc/bonded/bonded.yaml',
    'BONDED_DATA_DIR=/var/lib/bonded',
  ]
  const program = '/opt/bonded/node /opt/bonded/packages/service/bin/bonded.js '
  for (const name of ['bonded.service', 'bonded-backup.service', 'bonded-audit.service'])
    assert.deepEqual(settingsOf(name), service, name)
  for (const name of ['bonded-backup.service', 'bonded-audit.service', 'bonded'])
    assert.ok(read(name).includes(program), name)
  // What the command does with them is in booted-units.test.ts.
  for (const setting of [...service.map((each) => each.replace(/^.*=/, '')), 'umask 0077'])
    assert.ok(read('bonded').includes(setting), setting)
  // What bonded.js executes.
  const main = ['/opt/bonded/node', ...RUNTIME_FLAGS, '/opt/bonded/packages/service/dist/main.js']
  assert.ok(read('bonded.service').includes(`\nExecStart=${main.join(' ')} serve\n`))
})

test('the service comes with the socket that keeps its port during a restart', () => {
  const unit = readFileSync(UNIT, 'utf8')
  assert.match(unit, /^Requires=bonded\.socket$/m)
  assert.match(unit, /^After=.* bonded\.socket$/m)
  assert.match(unit, /^Also=bonded\.socket$/m)
})

test('the backup writes the metric of its alert, for at most a time between two backups', () => {
  const unit = readFileSync(join(SYSTEMD, 'bonded-backup.service'), 'utf8')
  const alerts = readFileSync(join(ROOT, 'deploy/prometheus/alerts.yaml'), 'utf8')
  const [, metric = '', job = ''] = /max\((backup_\w+)\{job="([^"]+)"\}/.exec(alerts) ?? []
  // booted-units.test.ts reads what it writes.
  assert.ok(unit.includes(`${metric}{job=\\\\"${job}\\\\"} $$(date +%%s)`))
  assert.match(unit, /^TimeoutStartSec=50min$/m)
})

test('the unit leaves the drain its time and lets the service open enough connections', () => {
  const unit = readFileSync(UNIT, 'utf8')
  assert.match(unit, /^Environment=BONDED_DRAIN_SECONDS=5$/m)
  assert.match(unit, /^TimeoutStopSec=30$/m)
  assert.match(unit, /^LimitNOFILE=65536$/m)
  assert.doesNotMatch(unit, /^MemoryDenyWriteExecute=/m)
})

test('systemd starts the service again for as long as the cause of its failures lasts', () => {
  const unit = readFileSync(UNIT, 'utf8')
  assert.match(unit, /^Restart=on-failure$/m)
  assert.match(unit, /^StartLimitIntervalSec=0$/m)
  assert.match(unit, /^RestartPreventExitStatus=2$/m)
  // Otherwise a call in the queue of the socket would start it again at once, without an end.
  assert.match(unit, /^ExecStopPost=\+.*"\$\$EXIT_STATUS" = 2 .*--no-block stop bonded\.socket;/m)
  assert.doesNotMatch(unit, /^StartLimitBurst=/m)
})

test('the settings of the compose file are valid for the service, which it isolates', () => {
  const { services, networks } = parse(readFileSync(join(ROOT, 'deploy/compose.yaml'), 'utf8'))
  const { bonded, migrate, postgres, tools } = services
  const given: Record<string, string> = {
    BONDED_PUBLIC_ORIGIN: 'https://bond.example.com',
    BONDED_ROOT_KEYS: ROOT_KEY,
    POSTGRES_PASSWORD: 'abc123',
    POSTGRES_OWNER_PASSWORD: 'def456',
  }
  const settingsOf = ({ environment }: { environment: Record<string, string> }) =>
    readConfig(
      Object.fromEntries(
        Object.entries(environment)
          .filter(([name]) => name.startsWith('BONDED_'))
          .map(([name, value]) => [
            name,
            value.replaceAll(
              /\$\{(\w+)(?::[-?]([^}]*))?\}/g,
              (_, variable: string, fallback = '') => given[variable] ?? fallback,
            ),
          ]),
      ),
    )
  const { environment: stage, drainMs, postgres: database } = settingsOf(bonded)
  assert.deepEqual([stage, drainMs, database !== undefined], ['production', 5_000, true])
  assert.deepEqual(
    [bonded.user, bonded.read_only, bonded.cap_drop, bonded.security_opt, bonded.stop_grace_period],
    ['65532:65532', true, ['ALL'], ['no-new-privileges:true'], '30s'],
  )
  assert.deepEqual(
    [tools.user, tools.read_only, tools.cap_drop, tools.security_opt, tools.networks],
    ['65532:65532', true, ['ALL'], ['no-new-privileges:true'], ['database']],
  )
  assert.deepEqual(tools.profiles, ['tools'], 'it runs on demand only')
  assert.equal(tools.environment.BONDED_ROOT_KEYS, bonded.environment.BONDED_ROOT_KEYS)
  assert.deepEqual(
    [bonded, migrate, tools].map((service) => settingsOf(service).postgres?.address.user),
    ['bonded', 'bonded_owner', 'bonded_owner'],
    'the node has the run-time role, and the others own the database',
  )
  assert.deepEqual(migrate.command, ['migrate', 'up', '--runtime-role', 'bonded'])
  assert.deepEqual(Object.keys(migrate.environment), ['BONDED_DATABASE_URL'], 'no root key')
  assert.equal(bonded.depends_on.migrate.condition, 'service_completed_successfully')
  assert.deepEqual(
    [migrate.user, migrate.read_only, migrate.cap_drop, migrate.networks],
    ['65532:65532', true, ['ALL'], ['database']],
  )
  assert.deepEqual(postgres.networks, ['database'])
  assert.equal(networks.database.internal, true)
  assert.equal(postgres.ports, undefined, 'the database is not published')
  assert.equal(postgres.environment.POSTGRES_USER, undefined, 'the service is no superuser')
  for (const port of bonded.ports as readonly string[]) assert.match(port, /^127\.0\.0\.1:/)
  const example = readFileSync(join(ROOT, 'deploy/compose.env.example'), 'utf8')
  assert.match(readFileSync(join(ROOT, '.gitignore'), 'utf8'), /^\.env$/m)
  for (const name of Object.keys(given)) assert.match(example, new RegExp(`^${name}=`, 'm'))
})
