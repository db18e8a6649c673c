import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { localBus } from '../../../server/src/adapters/bus/local-bus.ts'
import { keyringOf } from '../../../server/src/adapters/keys/keyring.ts'
import { noMeter } from '../../../core/src/ports/meter.ts'
import { type Store, StoreError } from '../../../core/src/ports/store.ts'
import { ODD_SETTINGS } from '../servers/odd-settings.ts'
import { runSql } from '../servers/postgres.ts'
import { postgresDatabase, ROOT_KEY, settingsOf } from '../servers/test-database.ts'
import { openPostgres } from '../../src/postgres/open-postgres.ts'
import { Connections } from '../../src/postgres/server/connections.ts'
import { SERVER_STATE } from '../../src/postgres/server/server-state.ts'
import { REQUIRED_SETTINGS, SESSION_SETTINGS } from '../../src/postgres/server/session-settings.ts'
import { newDevice, newToken, NOW } from '../tables/table-operations.ts'

const { idKeys } = keyringOf([ROOT_KEY])

/** The database has the odd defaults of `odd-settings.ts`. */
const database = await postgresDatabase()
const openStores: Store[] = []
after(async () => {
  for (const store of openStores) await store[Symbol.asyncDispose]()
  await database.drop()
})

async function openNode(): Promise<Store> {
  const open = await openPostgres(settingsOf(database.url), { now: NOW, idKeys })
  const store = open({ bus: localBus(), meter: noMeter })
  openStores.push(store)
  return store
}

test('a node reads the keys that another one stored, whatever the defaults of the database', async () => {
  const device = newDevice(0)
  const one = await openNode()
  await one.write((tables) => tables.devices.register(device, newToken(0)))
  const other = await openNode()
  const found = await other.read((tables) => tables.devices.find(device.id))
  assert.deepEqual(found?.publicKey, device.publicKey)
  assert.deepEqual(await other.health(), [])
})

test('every odd default that changes a meaning is replaced when a connection opens', async () => {
  await using pool = await Connections.open(settingsOf(database.url))
  const rows = await pool.run((connection) => connection.run({ text: 'show all', values: [] }))
  const found = new Map(
    (rows as readonly { name: string; setting: string }[]).map((row) => [row.name, row.setting]),
  )
  for (const [setting, value] of Object.entries(SESSION_SETTINGS)) {
    assert.notEqual(ODD_SETTINGS[setting], undefined, `${setting} has no odd default`)
    assert.equal(found.get(setting), value, setting)
  }
  assert.equal(found.get('DateStyle'), 'German, DMY')
})

test('time-outs of the role are replaced when a connection opens', async () => {
  const own = await postgresDatabase()
  const of = new URL(own.url).pathname.slice(1)
  const timeouts = ['idle_session_timeout', 'idle_in_transaction_session_timeout']
  for (const timeout of [...timeouts, 'statement_timeout', 'lock_timeout'])
    await runSql(new URL('/postgres', own.url).href, `alter database "${of}" set ${timeout} = 1`)
  await using pool = await Connections.open(settingsOf(own.url))
  const shown = async (timeout: string) => {
    const rows = await pool.run((c) => c.run({ text: `show ${timeout}`, values: [] }))
    return (rows as readonly Record<string, unknown>[])[0]?.[timeout]
  }
  assert.equal(await shown('idle_session_timeout'), '0')
  assert.equal(await shown('idle_in_transaction_session_timeout'), '10s')
  assert.equal(await shown('statement_timeout'), '5s')
  assert.equal(await shown('lock_timeout'), '2s')
  await own.drop()
})

/** What a superuser can set for a role or a database, and the message that a node reports. */
const REFUSED = [
  ['session_replication_role = replica', /session_replication_role is replica.*alter role/],
  ['zero_damaged_pages = on', /zero_damaged_pages is on/],
  ['search_path = public, pg_catalog', /search_path.*pg_catalog first/],
] as const

for (const [setting, message] of REFUSED) {
  test(`a start is rejected with the fix where ${setting}`, async () => {
    const own = await postgresDatabase()
    await runSql(own.url, `alter database "${new URL(own.url).pathname.slice(1)}" set ${setting}`)
    await assert.rejects(
      openPostgres(settingsOf(own.url), { now: NOW, idKeys }),
      (failure) => failure instanceof StoreError && message.test(failure.message),
    )
    await own.drop()
  })
}

/** Settings of plans, memory, statistics, logs and vacuum: they change the time, not the result. */
const CATEGORIES_WITHOUT_EFFECT =
  /^(Query Tuning|Resource Usage|Reporting and Logging|Statistics|Vacuuming|Lock Management|Replication|Connections and Authentication|Client Connection Defaults \/ Shared Library Preloading)/
/** Settings that no statement of the store depends on, by reason. */
const WITHOUT_EFFECT = {
  'no statement reads or writes dates, XML, sorted texts, or full texts':
    'DateStyle IntervalStyle TimeZone timezone_abbreviations xmlbinary xmloption lc_messages lc_monetary lc_numeric lc_time default_text_search_config icu_validation_level',
  'the statements have no escapes, and name their objects in lower case':
    'backslash_quote escape_string_warning quote_all_identifiers',
  'they choose where and how rows are stored':
    'default_table_access_method default_tablespace default_toast_compression temp_tablespaces',
  'the tables have no policies, foreign tables, GIN indexes, functions or large objects':
    'row_security restrict_nonsystem_relation_kind gin_fuzzy_search_limit gin_pending_list_limit check_function_bodies lo_compat_privileges event_triggers createrole_self_grant dynamic_library_path extension_control_path',
  'no transaction is both serializable and read-only': 'default_transaction_deferrable',
  'rows are ordered by the statement, or not at all': 'synchronize_seqscans',
  'they are of one transaction':
    'transaction_isolation transaction_deferrable transaction_read_only',
  'the connection sets it':
    'client_encoding statement_timeout lock_timeout idle_session_timeout idle_in_transaction_session_timeout',
  'a longer transaction fails': 'transaction_timeout',
  'they are for developers of PostgreSQL':
    'allow_in_place_tablespaces allow_system_table_mods backtrace_functions debug_discard_caches debug_logical_replication_streaming debug_parallel_query ignore_system_indexes jit_debugging_support jit_dump_bitcode jit_expressions jit_profiling_support jit_tuple_deforming post_auth_delay trace_notify trace_sort wal_consistency_checking',
  'they change the size of the log of changes':
    'wal_init_zero wal_recycle wal_compression wal_skip_threshold commit_delay commit_siblings',
}

test('every setting of a session is set, required, or known to have no effect', async () => {
  const rows = await runSql(
    database.url,
    `select name, category from pg_settings where name not like '%.%'
      and context in ('user', 'superuser', 'backend', 'superuser-backend')`,
  )
  const judged = new Set(
    [SESSION_SETTINGS, REQUIRED_SETTINGS]
      .flatMap((each) => Object.keys(each))
      .concat(Object.values(WITHOUT_EFFECT).flatMap((each) => each.split(' '))),
  )
  const unjudged = (rows as readonly { name: string; category: string }[])
    .filter(({ category }) => !CATEGORIES_WITHOUT_EFFECT.test(category))
    .map((row) => row.name)
    .filter((setting) => !judged.has(setting) && !SERVER_STATE.includes(`'${setting}'`))
  // `problemOf` judges the schemas that result from it, and the read-only default by its effect.
  assert.deepEqual(unjudged.toSorted(), ['default_transaction_read_only', 'search_path'])
})
