import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoreError } from '@bonded/core/ports/store'
import {
  grantRuntimeRights,
  rejectUnmigrated,
  schemaRights,
} from '../src/postgres/runtime-rights.ts'
import type { Connection } from '../src/postgres/server/connections.ts'
import { parseDatabaseUrl } from '../src/postgres/server/database-url.ts'
import { problemOf, SERVER_STATE } from '../src/postgres/server/server-state.ts'
import { Servers, StandbyError } from '../src/postgres/server/servers.ts'

/** The settings of a session that change what it reads or writes, with the values that it needs. */
const SETTINGS = {
  array_nulls: 'on',
  bytea_output: 'hex',
  client_min_messages: 'notice',
  default_transaction_isolation: 'read committed',
  exit_on_error: 'off',
  extra_float_digits: '1',
  standard_conforming_strings: 'on',
  transform_null_equals: 'off',
  session_replication_role: 'origin',
  ignore_checksum_failure: 'off',
  zero_damaged_pages: 'off',
}
/** A server that can be used, as its settings read. */
const USABLE = {
  ...SETTINGS,
  version: '140000',
  standby: 'false',
  read_only: 'off',
  synchronous_commit: 'on',
  fsync: 'on',
  full_page_writes: 'on',
  encoding: 'UTF8',
  first_schema: 'pg_catalog',
  statement_timeout: '5s',
}

test('a server is rejected for each setting that loses or changes data, with the fix', () => {
  assert.equal(problemOf(USABLE), undefined)
  assert.equal(problemOf({ ...USABLE, version: '180001', synchronous_commit: 'local' }), undefined)
  const cases: readonly (readonly [object, string])[] = [
    [{ version: '139999' }, 'it is PostgreSQL 13. Upgrade the server to 14 or later.'],
    [
      { standby: 'true' },
      'it is a standby, which only reads. Set BONDED_DATABASE_URL to the primary, or to all servers: postgres://user@host-1,host-2/database.',
    ],
    [
      { read_only: 'on' },
      'default_transaction_read_only is on. Turn it off for this user: alter role <user> set default_transaction_read_only = off.',
    ],
    [
      { synchronous_commit: 'off' },
      'synchronous_commit is off, so a crash loses sessions that were acknowledged. Turn it on for this user: alter role <user> set synchronous_commit = on.',
    ],
    ...['fsync', 'full_page_writes'].map(
      (name) =>
        [
          { [name]: 'off' },
          `${name} is off, so a crash loses or damages data. Turn it on in postgresql.conf and restart the server.`,
        ] as const,
    ),
    [
      { encoding: 'LATIN1' },
      "its encoding is LATIN1. Create the database anew: create database <name> encoding 'UTF8' template template0.",
    ],
    [
      { first_schema: 'public' },
      'its search_path puts other functions before those of PostgreSQL. Name pg_catalog first, or not at all: alter role <user> set search_path = <schema>.',
    ],
    [
      { statement_timeout: '0' },
      'no statement_timeout is in effect. A pooler ignores the one of the service; set it for this user: alter role <user> set statement_timeout = 5000.',
    ],
  ]
  for (const [given, problem] of cases) assert.equal(problemOf({ ...USABLE, ...given }), problem)
  for (const [name, value] of Object.entries(SETTINGS)) {
    assert.equal(
      problemOf({ ...USABLE, [name]: 'other' }),
      `${name} is other, which changes what the service reads or writes. Set it for this user, and let a pooler reconnect: alter role <user> set ${name} = '${value}'.`,
    )
    // A server of another version may not have the setting.
    assert.equal(problemOf({ ...USABLE, [name]: null }), undefined, name)
    assert.ok(SERVER_STATE.includes(`current_setting('${name}', true) as ${name}`), name)
  }
})

const ADDRESS =
  parseDatabaseUrl('postgres://bonded@one.example:5433,two.example,three.example/bonded') ??
  assert.fail('the URL cannot be read')
const [first, second, third] = ADDRESS.hosts as [
  (typeof ADDRESS.hosts)[number],
  (typeof ADDRESS.hosts)[number],
  (typeof ADDRESS.hosts)[number],
]

/** Servers whose survey finds what a test gives it. */
function serversWith(answers: readonly object[] = []) {
  const calls = { changes: 0, surveys: 0 }
  const servers = new Servers(ADDRESS, {
    onChange: () => void calls.changes++,
    async survey() {
      calls.surveys++
      servers.found(answers as never, performance.now())
    },
  })
  return { servers, calls }
}

const origin = (timeline: string, started: string, cluster = '7') => ({
  cluster,
  timeline,
  started,
})

test('the next server of the URL is chosen once, and the first again after the last', () => {
  const { servers } = serversWith()
  assert.deepEqual([servers.count, servers.current], [3, first])
  servers.leave(first)
  // Another connection to the server that failed has no say any more.
  servers.leave(first)
  assert.equal(servers.current, second)
  servers.leave(second)
  assert.equal(servers.current, third)
  servers.leave(third)
  assert.equal(servers.current, first)
})

test('an old primary is rejected once another server is on a newer timeline of its cluster', () => {
  const { servers, calls } = serversWith()
  const found = (...all: readonly object[]) => servers.found(all as never, performance.now())
  found({ ...origin('00000001', 'a'), host: first, acceptsWrites: true })
  assert.deepEqual([calls.changes, servers.isRejected(origin('00000001', 'a'))], [0, false])
  found({ ...origin('00000002', 'b'), host: second, acceptsWrites: true })
  assert.equal(calls.changes, 1)
  assert.equal(servers.isRejected(origin('00000001', 'a')), true)
  assert.equal(servers.isRejected(origin('00000002', 'b')), false)
  // Another cluster has its own timelines, and a server without a log has none.
  assert.equal(servers.isRejected(origin('00000001', 'c', '8')), false)
  assert.equal(servers.isRejected({ cluster: '7', timeline: undefined, started: 'a' }), false)
  // The old primary still accepts writes, which does not conflict.
  found(
    { ...origin('00000001', 'a'), host: first, acceptsWrites: true },
    { ...origin('00000002', 'b'), host: second, acceptsWrites: true },
  )
  assert.deepEqual([calls.changes, servers.isRejected(origin('00000002', 'b'))], [1, false])
})

test('no server is used while two of them accept writes', async () => {
  const query = async (text: string) => ({
    rows: text.includes('pg_control_system')
      ? [{ cluster: '7', timeline: '0000000A', started: 'a' }]
      : [USABLE],
  })
  const both = (other: object) => [
    { ...origin('0000000A', 'a'), host: first, acceptsWrites: true },
    { ...origin('0000000A', 'b'), host: second, acceptsWrites: true, ...other },
  ]
  const fix =
    ' Stop the server that must not be the primary, and rebuild it as a standby of the other one. Or remove it from BONDED_DATABASE_URL.'
  for (const [other, what] of [
    [
      {},
      'one.example:5433 and two.example:5432 both accept writes on timeline 10, so neither of them is known to have all sessions.',
    ],
    [
      { cluster: '8' },
      'one.example:5433 and two.example:5432 both accept writes, and are not copies of each other.',
    ],
  ] as const) {
    const { servers, calls } = serversWith(both(other))
    await assert.rejects(servers.admit(first, query as never), (error: unknown) => {
      assert.ok(error instanceof StoreError)
      assert.deepEqual(
        [error.message, error.kind, error.where],
        [`${ADDRESS.shown} cannot be used: ${what}${fix}`, 'unsuitable', ADDRESS.shown],
      )
      return true
    })
    assert.equal(calls.changes, 1)
    assert.equal(servers.isRejected(origin('0000000A', 'a')), true)
    // The same conflict again changes nothing, and its end makes the server usable.
    servers.found(both(other), performance.now())
    assert.equal(calls.changes, 1)
    servers.found([both(other)[0]] as never, performance.now())
    assert.equal(servers.isRejected(origin('0000000A', 'a')), false)
  }
})

test('a new connection asks all servers unless a survey has just named its own', async () => {
  const query = (state: object, started: string, timeline = '00000001') =>
    (async (text: string) => ({
      rows: text.includes('pg_control_system')
        ? [{ cluster: '7', timeline, started }]
        : [{ ...USABLE, ...state }],
    })) as never
  const { servers, calls } = serversWith([
    { ...origin('00000002', 'b'), host: second, acceptsWrites: true },
  ])
  await assert.rejects(servers.admit(first, query({}, 'a')), {
    message:
      'PostgreSQL database bonded at one.example:5433 cannot be used: it is an old primary: another server was promoted in its place. Stop it, and rebuild it as a standby of the new primary.',
  })
  assert.equal(calls.surveys, 1)
  assert.equal((await servers.admit(second, query({}, 'b', '00000002'))).started, 'b')
  assert.equal(calls.surveys, 1)
  // A server that has started anew may be another one.
  await servers.admit(second, query({}, 'b2', '00000002'))
  assert.equal(calls.surveys, 2)
  await assert.rejects(servers.admit(third, query({ standby: 'true' }, 'c')), StandbyError)
  await assert.rejects(
    servers.admit(third, query({ fsync: 'off' }, 'c')),
    (error: unknown) => error instanceof StoreError && !(error instanceof StandbyError),
  )
})

/** A connection that records what it runs, and answers each statement with the same row. */
function connectionWith(row: object | undefined) {
  const texts: string[] = []
  const values: unknown[] = []
  const connection = {
    async run(statement: { text: string; values: readonly unknown[] }) {
      texts.push(statement.text.replaceAll(/\s+/g, ' '))
      values.push(statement.values)
      return row === undefined ? [] : [row]
    },
  } as unknown as Connection
  return { connection, texts, values }
}

/**
 * What a node does with each table (`docs/guides/operate`): it never changes the list of
 * migrations, and never an event.
 */
const RIGHTS = {
  'select, insert, update, delete': `audit_entry device device_continuity device_motion
    idempotency inbox_caller node_message pairwise_subject push_subscription receipt
    receipt_log_tile session session_device session_total used_challenge webhook_delivery
    webhook_endpoint`,
  'select, insert, delete': `audit_person_key blocked_subject device_event device_receipt
    node_setting rejection session_event tenant_logo tenant_origin`,
  'select, insert, update': `publishable_key push_key receipt_log_closed server_credential
    session_id_key tenant`,
  'select, update': 'receipt_log session_total_head used_level',
  'select, insert': 'known_setting',
  select: 'migration',
} as const
const GRANTED = Object.entries(RIGHTS).flatMap(([rights, tables]) =>
  tables.split(/\s+/).map((table) => [table, rights] as const),
)

test('the role of nodes gets the rights that they need on each table, and no other', async () => {
  const { connection, texts } = connectionWith({
    is_owner: false,
    may_create: false,
    schema: 's"x',
  })
  await grantRuntimeRights(connection, { role: 'no"de', where: 'db' })
  const [, usage, revoked, ...others] = texts
  assert.deepEqual(
    [usage, revoked, others.at(-1)],
    [
      'grant usage on schema "s""x" to "no""de"',
      'revoke all on all tables in schema "s""x" from "no""de"',
      'grant select on all sequences in schema "s""x" to "no""de"',
    ],
  )
  assert.deepEqual(
    others.slice(0, -1).toSorted(),
    GRANTED.map(([table, rights]) => `grant ${rights} on ${table} to "no""de"`).toSorted(),
  )
})

test('a role that is missing, owns the tables, or may create some gets no rights', async () => {
  const cases = [
    [undefined, 'the role r does not exist. Create it, or name another one.'],
    [
      { is_owner: true, may_create: true, schema: 's' },
      'the role r has all rights of the role that migrates. Name a role that is not a superuser, and not a member of it.',
    ],
    [
      { is_owner: false, may_create: true, schema: 's' },
      'the role r can create tables in the schema s. Run as a superuser in this database: revoke create on schema s from public, r.',
    ],
  ] as const
  for (const [row, problem] of cases) {
    const { connection, texts } = connectionWith(row)
    await assert.rejects(grantRuntimeRights(connection, { role: 'r', where: 'db' }), {
      message: `db cannot be used: ${problem}`,
      kind: 'unsuitable',
      where: 'db',
    })
    assert.equal(texts.length, 1)
  }
})

test('the answer to each right of each table is read', async () => {
  const row = { role: 'r', may_migrate: true, unusable: ['device'] }
  const { connection, values } = connectionWith(row)
  assert.deepEqual(await schemaRights(connection), {
    role: 'r',
    mayMigrate: true,
    unusable: ['device'],
  })
  const [[tables, rights]] = values as [[string, string]]
  const asked = tables
    .slice(1, -1)
    .split(',')
    .map((table, index) => `${table} ${rights.slice(1, -1).split(',')[index]}`)
  const needed = GRANTED.flatMap(([table, of]) => of.split(', ').map((one) => `${table} ${one}`))
  assert.deepEqual(asked.toSorted(), needed.toSorted())
})

test('a schema that the role may not complete is rejected with the command that does', () => {
  const rejection = (pending: readonly string[], unusable: readonly string[]) => {
    try {
      rejectUnmigrated({ role: 'r', mayMigrate: false, unusable }, { pending, where: 'db' })
    } catch (error) {
      assert.ok(error instanceof StoreError)
      assert.deepEqual([error.kind, error.where], ['not_migrated', 'db'])
      return error.message
    }
  }
  const fix =
    'Run this command of this version with the role that owns the database: bonded migrate up --runtime-role r'
  const ready = 'db is not ready for this version:'
  assert.equal(rejection([], ['a', 'b']), `${ready} the role r lacks rights on a, b. ${fix}`)
  const mayNot = 'and the role r may not change the schema'
  assert.equal(rejection(['2 x'], []), `${ready} it lacks the migration 2 x, ${mayNot}. ${fix}`)
  assert.equal(
    rejection(['2 x', '3 y'], []),
    `${ready} it lacks the migrations 2 x, 3 y, ${mayNot}. ${fix}`,
  )
})
