import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import {
  type Config,
  ConfigError,
  readConfig,
  type SettingFlags,
} from '../../src/settings/config.ts'

const DAY_MS = 86_400_000
const folder = mkdtempSync(join(tmpdir(), 'bonded-every-'))
after(() => rmSync(folder, { recursive: true }))
const program = join(folder, 'program.sh')
writeFileSync(program, '#!/bin/sh\n')
chmodSync(program, 0o755)
const noProgram = join(folder, 'text')
writeFileSync(noProgram, 'text')
chmodSync(noProgram, 0o644)

const PRODUCTION = {
  BONDED_ENVIRONMENT: 'production',
  BONDED_PUBLIC_ORIGIN: 'https://bond.example',
  BONDED_ROOT_KEYS: `k1:${'A'.repeat(43)}`,
}

/** What the reference page says that a setting accepts. */
const page = readFileSync(
  join(import.meta.dirname, '../../../../docs/reference/configuration.md'),
  'utf8',
)
const expectedOf = (name: string) =>
  new RegExp(
    `^\\| \`${name}\` \\| \`\\w+\` \\| .*? \\| (.*?)(?: \\(secret\\))? \\| [^|]* \\|$`,
    'm',
  ).exec(page)?.[1] ?? assert.fail(`the reference page has no ${name}`)

function mistakesOf(variables: NodeJS.ProcessEnv, flags: SettingFlags = {}) {
  try {
    readConfig(variables, flags)
    return []
  } catch (failure) {
    assert.ok(failure instanceof ConfigError)
    assert.equal(failure.code, 'config_invalid')
    const lines = failure.mistakes.map(
      ({ setting, value, expected }) => `\n  ${setting}: ${value}. Expected ${expected}.`,
    )
    assert.equal(failure.message, `The configuration is invalid:${lines.join('')}`)
    return failure.mistakes
  }
}

/** Values at the ends of what each setting accepts, and what the service gets. */
const ACCEPTED: readonly (readonly [
  Record<string, string>,
  (config: Config) => unknown,
  unknown,
])[] = [
  [{}, ({ publicOrigin }) => publicOrigin, 'http://localhost:8787'],
  [{ BONDED_PORT: '81' }, ({ publicOrigin }) => publicOrigin, 'http://localhost:81'],
  ...['https://bond.example:8443', 'http://127.0.0.1:1', 'http://[::1]:8'].map(
    (origin) =>
      [{ BONDED_PUBLIC_ORIGIN: origin }, (config: Config) => config.publicOrigin, origin] as const,
  ),
  [{ BONDED_PORT: '0' }, ({ port }) => port, 0],
  [{ BONDED_PORT: '65535' }, ({ port }) => port, 65_535],
  [{ BONDED_HOST: '::1' }, ({ host }) => host, '::1'],
  [
    { BONDED_DATA_DIR: 'data' },
    ({ dataDir, databaseFile }) => [dataDir, databaseFile],
    ['data', 'data/bonded.db'],
  ],
  [
    { BONDED_DATABASE_URL: 'sqlite:/srv/b.db' },
    ({ databaseFile, postgres }) => [databaseFile, postgres],
    ['/srv/b.db', undefined],
  ],
  [{ BONDED_DEVICE_TOKEN_TTL_DAYS: '1' }, ({ deviceTokenTtlMs }) => deviceTokenTtlMs, DAY_MS],
  [
    { BONDED_DEVICE_TOKEN_TTL_DAYS: '3650' },
    ({ deviceTokenTtlMs }) => deviceTokenTtlMs,
    3_650 * DAY_MS,
  ],
  [{}, ({ deviceTokenTtlMs }) => deviceTokenTtlMs, 180 * DAY_MS],
  [
    { BONDED_REJECTION_RETENTION_DAYS: '2' },
    ({ rejectionRetentionMs }) => rejectionRetentionMs,
    2 * DAY_MS,
  ],
  [
    { BONDED_REJECTION_RETENTION_DAYS: '3650' },
    ({ rejectionRetentionMs }) => rejectionRetentionMs,
    3_650 * DAY_MS,
  ],
  [{}, ({ rejectionRetentionMs }) => rejectionRetentionMs, 30 * DAY_MS],
  [
    { BONDED_RECEIPT_RETENTION_DAYS: '36500', BONDED_RECEIPT_LOG_RETENTION_DAYS: '36500' },
    ({ receiptRetentionMs, logRetentionMs }) => [receiptRetentionMs, logRetentionMs],
    [36_500 * DAY_MS, 36_500 * DAY_MS],
  ],
  [
    { BONDED_RECEIPT_RETENTION_DAYS: '3', BONDED_RECEIPT_LOG_RETENTION_DAYS: '4' },
    ({ receiptRetentionMs, logRetentionMs }) => [receiptRetentionMs, logRetentionMs],
    [3 * DAY_MS, 4 * DAY_MS],
  ],
  [
    {},
    ({ receiptRetentionMs, logRetentionMs }) => [receiptRetentionMs, logRetentionMs],
    [30 * DAY_MS, 3_650 * DAY_MS],
  ],
  [
    { BONDED_RETENTION_BOUNDS: 'sessions=2-20, audit=400-36500' },
    ({ retentionBounds }) => retentionBounds,
    {
      sessions: { min: 2, max: 20 },
      reasons: { min: 1, max: 365 },
      deliveries: { min: 1, max: 365 },
      receipts: { min: 1, max: 3_650 },
      audit: { min: 400, max: 36_500 },
    },
  ],
  [
    { BONDED_RECEIPT_CHECKPOINT: `${folder}/log` },
    ({ receiptCheckpoint }) => receiptCheckpoint,
    `${folder}/log`,
  ],
  [{}, ({ receiptCheckpoint }) => receiptCheckpoint, undefined],
  [{ BONDED_APP_SCHEME: 'a+b.c-1' }, ({ appScheme }) => appScheme, 'a+b.c-1'],
  [{}, ({ appScheme }) => appScheme, 'pulse'],
  [{ BONDED_METRICS_PORT: '1' }, ({ metricsPort }) => metricsPort, 1],
  [{ BONDED_METRICS_PORT: '65535' }, ({ metricsPort }) => metricsPort, 65_535],
  [{}, ({ metricsPort, metricsHost }) => [metricsPort, metricsHost], [undefined, '127.0.0.1']],
  [{ BONDED_METRICS_HOST: '::' }, ({ metricsHost }) => metricsHost, '::'],
  [{ BONDED_OPERATOR: '𝄞'.repeat(64) }, ({ operator }) => operator, '𝄞'.repeat(64)],
  [{}, ({ operator }) => operator, undefined],
  [{ BONDED_BODY_BUDGET_MIB: '1' }, ({ bodyBudgetBytes }) => bodyBudgetBytes, 1_048_576],
  [{ BONDED_BODY_BUDGET_MIB: '4096' }, ({ bodyBudgetBytes }) => bodyBudgetBytes, 4_294_967_296],
  [{}, ({ bodyBudgetBytes }) => bodyBudgetBytes, 67_108_864],
  [{ BONDED_TRUST_PROXY: '9' }, ({ trustedProxies }) => trustedProxies, 9],
  [{}, ({ trustedProxies }) => trustedProxies, 0],
  [
    { BONDED_WEBHOOK_HOSTS: 'hooks.internal:8443, [fd00::1]:80' },
    ({ webhookHosts }) => webhookHosts,
    ['hooks.internal:8443', '[fd00::1]:80'],
  ],
  [
    { BONDED_PUSH_HOSTS: 'push.example, *.push.example' },
    ({ pushHosts }) => pushHosts,
    ['push.example', '*.push.example'],
  ],
  [
    {},
    ({ webhookHosts, pushHosts, backendAddresses }) => [webhookHosts, pushHosts, backendAddresses],
    [[], [], undefined],
  ],
  [{ BONDED_DRAIN_SECONDS: '10' }, ({ drainMs }) => drainMs, 10_000],
  [{}, ({ drainMs }) => drainMs, 0],
  [PRODUCTION, ({ drainMs, environment }) => [drainMs, environment], [5_000, 'production']],
  [{ ...PRODUCTION, BONDED_DRAIN_SECONDS: '0' }, ({ drainMs }) => drainMs, 0],
  [{ BONDED_RELATED_ORIGINS: 'on' }, ({ relatedOrigins }) => relatedOrigins, true],
  [{}, ({ relatedOrigins }) => relatedOrigins, false],
  [
    {},
    ({ witnesses, receiptCommand, receiptKeys }) => [witnesses, receiptCommand, receiptKeys],
    [[], undefined, undefined],
  ],
  [
    { BONDED_ROOT_KEYS_COMMAND: program },
    ({ rootKeys }) => rootKeys.place,
    `what ${program} prints`,
  ],
  [{ BONDED_DATA_DIR: 'data' }, ({ rootKeys }) => rootKeys.place, join('data', 'root.key')],
  [PRODUCTION, ({ rootKeys }) => rootKeys.place, 'BONDED_ROOT_KEYS'],
  ...(['0', '0.25', '1', '1.0'] as const).map(
    (ratio) =>
      [
        { BONDED_TRACES_RATIO: ratio, BONDED_TRACES_ENDPOINT: 'http://127.0.0.1:4318/v1/traces' },
        (config: Config) => config.traces,
        { endpoint: 'http://127.0.0.1:4318/v1/traces', headers: {}, ratio: Number(ratio) },
      ] as const,
  ),
]

test('each setting accepts the ends of its range, and the service gets them in its units', () => {
  for (const [variables, pick, expected] of ACCEPTED)
    assert.deepEqual(pick(readConfig(variables)), expected, JSON.stringify(variables))
})

test('PostgreSQL gets each of its settings, also at the ends of their ranges', () => {
  const BONDED_DATABASE_URL = 'postgres://bonded@127.0.0.1:5433/sessions'
  const postgresOf = (more: Record<string, string> = {}) => {
    const { databaseFile, postgres } = readConfig({ BONDED_DATABASE_URL, ...more })
    assert.equal(databaseFile, '')
    const { address, ...settings } = postgres ?? assert.fail()
    assert.equal(address.shown, 'PostgreSQL database sessions at 127.0.0.1:5433')
    return settings
  }
  assert.deepEqual(postgresOf(), {
    poolSize: 10,
    statementTimeoutMs: 5_000,
    lockTimeoutMs: 2_000,
    prepared: true,
  })
  const least = {
    BONDED_DATABASE_POOL_SIZE: '2',
    BONDED_DATABASE_STATEMENT_TIMEOUT_MS: '100',
    BONDED_DATABASE_LOCK_TIMEOUT_MS: '60000',
    BONDED_DATABASE_PREPARED: 'off',
  }
  const all = { poolSize: 2, statementTimeoutMs: 100, lockTimeoutMs: 60_000, prepared: false }
  assert.deepEqual(postgresOf(least), all)
  const most = {
    BONDED_DATABASE_POOL_SIZE: '500',
    BONDED_DATABASE_STATEMENT_TIMEOUT_MS: '60000',
    BONDED_DATABASE_LOCK_TIMEOUT_MS: '100',
    BONDED_DATABASE_PREPARED: 'on',
  }
  assert.deepEqual(postgresOf(most), {
    poolSize: 500,
    statementTimeoutMs: 60_000,
    lockTimeoutMs: 100,
    prepared: true,
  })
})

/** Values beyond the ends of what each setting accepts. */
const REJECTED: Readonly<Record<string, readonly string[]>> = {
  BONDED_PUBLIC_ORIGIN: ['http://bond.example', 'https://bond.example/', 'bond.example'],
  BONDED_RP_ID: ['example'],
  BONDED_RP_ID_FORMER: ['a b'],
  BONDED_RELATED_ORIGINS: ['yes', ''],
  BONDED_PORT: ['65536', '-1', '', '8787x'],
  BONDED_DATABASE_POOL_SIZE: ['1', '501', '2.5', 'ten'],
  BONDED_DATABASE_STATEMENT_TIMEOUT_MS: ['99', '60001', '5s'],
  BONDED_DATABASE_LOCK_TIMEOUT_MS: ['99', '60001', ''],
  BONDED_DATABASE_PREPARED: ['yes', ''],
  BONDED_RECEIPT_RETENTION_DAYS: ['0', '36501', '030', '1.5'],
  BONDED_RECEIPT_LOG_RETENTION_DAYS: ['29', '36501', 'x'],
  BONDED_RETENTION_BOUNDS: ['sessions', 'receipts=1-3651', 'sessions=1-36501'],
  BONDED_RECEIPT_CHECKPOINT: [`${folder}/none/log`, `${program}/log`],
  BONDED_RECEIPT_WITNESSES: ['witness.example'],
  BONDED_APP_SCHEME: ['Acme', '1a', 'a_b', ''],
  BONDED_QR_CONTENT: ['link', ''],
  BONDED_DEVICE_TOKEN_TTL_DAYS: ['0', '3651', '0180'],
  BONDED_REJECTION_RETENTION_DAYS: ['0', '3651', '1e3'],
  BONDED_CSCA_DIR: [`${folder}/none`],
  BONDED_METRICS_PORT: ['0', '65536', ''],
  BONDED_METRICS_HOST: ['localhost', ''],
  BONDED_TRACES_RATIO: ['1.1', '-0.5', '.5', '2'],
  BONDED_RATE_LIMITS: ['yes', 'create=0'],
  BONDED_BODY_BUDGET_MIB: ['0', '4097', '064'],
  BONDED_TRUST_PROXY: ['10', 'yes', ''],
  BONDED_CONNECTION_LIMITS: ['total=0'],
  BONDED_BACKEND_ADDRESSES: ['backend.example', '10.0.0.0/33'],
  BONDED_WEBHOOK_HOSTS: ['hooks.internal', 'hooks.internal:0', 'https://hooks.internal:1'],
  BONDED_PUSH_HOSTS: ['localhost', 'https://push.example', '*.example.*'],
  BONDED_DRAIN_SECONDS: ['11', '-1', ''],
  BONDED_OPERATOR: ['𝄞'.repeat(65), '', 'a\u0007b'],
  BONDED_ENVIRONMENT: ['prod', ''],
}

for (const [name, values] of Object.entries(REJECTED)) {
  test(`${name}: a wrong value is reported with it and what the reference page expects`, () => {
    for (const value of values) {
      const own = mistakesOf({ [name]: value }).filter(({ setting }) => setting === name)
      assert.deepEqual(
        own[0],
        { setting: name, value: JSON.stringify(value), expected: expectedOf(name) },
        `${name}=${value}`,
      )
      const others = mistakesOf({ [name]: value }).filter(({ setting }) => setting !== name)
      // A receipt that is kept for longer than the entries of the log is the mistake of both.
      if (name !== 'BONDED_RECEIPT_RETENTION_DAYS') assert.deepEqual(others, [], `${name}=${value}`)
    }
  })
}

test('a wrong value that can be a secret is reported without it', () => {
  for (const [name, value] of [
    ['BONDED_DATABASE_URL', 'mysql://hunter2'],
    ['BONDED_DATABASE_URL', 'sqlite'],
    ['BONDED_ROOT_KEYS_COMMAND', 'hunter2'],
    ['BONDED_RECEIPT_COMMAND', 'hunter2'],
    ['BONDED_TRACES_ENDPOINT', 'https://bonded:hunter2@collector.example'],
    ['BONDED_TRACES_HEADERS', 'hunter2'],
  ] as const)
    assert.deepEqual(mistakesOf({ [name]: value }), [
      { setting: name, value: '(not shown)', expected: expectedOf(name) },
    ])
  assert.deepEqual(mistakesOf({ BONDED_RECEIPT_KEYS: 'hunter2' }), [
    {
      setting: 'BONDED_RECEIPT_KEYS',
      value: '(not shown): it is not a file that this user can read, with 1 to 65,536 bytes',
      expected:
        'a file of Ed25519 keys, PEM or a JSON Web Key Set, that only its owner and group can read. To generate one: openssl genpkey -algorithm ed25519',
    },
  ])
})

test('a program must be executable, and is given in place of the keys and beside the receipt keys', () => {
  for (const [variables, name] of [
    [{ BONDED_ROOT_KEYS_COMMAND: noProgram }, 'BONDED_ROOT_KEYS_COMMAND'],
    [{ BONDED_ROOT_KEYS_COMMAND: folder }, 'BONDED_ROOT_KEYS_COMMAND'],
    [
      { BONDED_ROOT_KEYS_COMMAND: program, BONDED_ROOT_KEYS: PRODUCTION.BONDED_ROOT_KEYS },
      'BONDED_ROOT_KEYS_COMMAND',
    ],
    [{ BONDED_RECEIPT_COMMAND: program }, 'BONDED_RECEIPT_COMMAND'],
  ] as const)
    assert.deepEqual(mistakesOf(variables), [
      {
        setting: name,
        value: JSON.stringify((variables as Record<string, string>)[name]),
        expected: expectedOf(name),
      },
    ])
})
