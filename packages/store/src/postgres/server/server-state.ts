import type { Row } from '../../statement.ts'
import { REQUIRED_SETTINGS, SESSION_SETTINGS } from './session-settings.ts'

/** The oldest version that the PostgreSQL project still maintains. */
const MIN_VERSION = 14

/** The time of the server, as the column `time`, in milliseconds since the epoch. */
export const TIME = 'extract(epoch from clock_timestamp())::float8 * 1000 as time'

const COMPARED = { ...SESSION_SETTINGS, ...REQUIRED_SETTINGS }

/** Asks a server for what `problemOf` judges. A setting that it does not have is null. */
export const SERVER_STATE = `select pg_is_in_recovery() as standby,
  current_setting('transaction_read_only') as read_only,
  current_setting('server_version_num') as version,
  current_setting('synchronous_commit') as synchronous_commit, current_setting('fsync') as fsync,
  current_setting('full_page_writes') as full_page_writes,
  current_setting('server_encoding') as encoding,
  current_setting('statement_timeout') as statement_timeout,
  (select name::text from unnest(current_schemas(true)) with ordinality as path (name, position)
    where name::text not like 'pg_temp%' order by position limit 1) as first_schema,
  ${Object.keys(COMPARED)
    .map((name) => `current_setting('${name}', true) as ${name}`)
    .join(', ')}`

/**
 * Judges whether a server can be written, and whether what it acknowledges is durable.
 *
 * @param server the row of `SERVER_STATE`
 * @returns the problem and its fix; undefined if there is none
 */
export function problemOf(server: Row): string | undefined {
  const major = Math.floor(Number(server.version) / 10_000)
  const says = (setting: string) => String(server[setting])
  if (major < MIN_VERSION)
    return `it is PostgreSQL ${major}. Upgrade the server to ${MIN_VERSION} or later.`
  if (says('standby') !== 'false')
    return 'it is a standby, which only reads. Set BONDED_DATABASE_URL to the primary, or to all servers: postgres://user@host-1,host-2/database.'
  if (says('read_only') !== 'off')
    return 'default_transaction_read_only is on. Turn it off for this user: alter role <user> set default_transaction_read_only = off.'
  if (says('synchronous_commit') === 'off')
    return 'synchronous_commit is off, so a crash loses sessions that were acknowledged. Turn it on for this user: alter role <user> set synchronous_commit = on.'
  for (const setting of ['fsync', 'full_page_writes'])
    if (says(setting) !== 'on')
      return `${setting} is off, so a crash loses or damages data. Turn it on in postgresql.conf and restart the server.`
  if (says('encoding') !== 'UTF8')
    return `its encoding is ${says('encoding')}. Create the database anew: create database <name> encoding 'UTF8' template template0.`
  const differing = Object.entries(COMPARED).filter(([name, value]) => {
    const found = server[name]
    return found !== null && found !== value
  })
  if (differing.length > 0) return differingProblem(server, differing)
  if (says('first_schema') !== 'pg_catalog')
    return 'its search_path puts other functions before those of PostgreSQL. Name pg_catalog first, or not at all: alter role <user> set search_path = <schema>.'
  if (says('statement_timeout') === '0')
    return 'no statement_timeout is in effect. A pooler ignores the one of the service; set it for this user: alter role <user> set statement_timeout = 5000.'
  return undefined
}

function differingProblem(server: Row, settings: readonly (readonly [string, string])[]): string {
  const found = settings.map(([name]) => `${name} is ${String(server[name])}`).join(', ')
  const fixes = settings.map(([name, value]) => `alter role <user> set ${name} = '${value}'`)
  return `${found}, which changes what the service reads or writes. Set it for this user, and let a pooler reconnect: ${fixes.join('; ')}.`
}
