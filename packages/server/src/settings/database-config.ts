import type { PostgresSettings } from '@bonded/store/postgres/server/connections'
import { parseDatabaseUrl } from '@bonded/store/postgres/server/database-url'
import type { SettingReader } from './setting-reader.ts'
import type { SettingName } from './settings.ts'

/** Where the service stores its data: a file of SQLite, or a PostgreSQL database. */
export interface DatabaseConfig {
  /** The SQLite file; empty with PostgreSQL. */
  readonly databaseFile: string
  readonly postgres: PostgresSettings | undefined
}

const DEFAULTS = { poolSize: '10', statementTimeoutMs: '5000', lockTimeoutMs: '2000' } as const
/** One connection for writes and one for reads. */
const MIN_POOL_SIZE = 2
const MAX_POOL_SIZE = 500
const MIN_TIMEOUT_MS = 100
const MAX_TIMEOUT_MS = 60_000

/**
 * Reads the settings of the database.
 */
export function readDatabaseConfig(
  options: SettingReader & { readonly dataDir: string },
): DatabaseConfig {
  const { dataDir, given, wrong } = options
  const number = (name: SettingName, bounds: { fallback: string; min: number; max: number }) => {
    const text = given(name) ?? bounds.fallback
    const value = Number(text)
    if (!/^\d{1,6}$/.test(text) || value < bounds.min || value > bounds.max) wrong(name)
    return value
  }
  const poolSize = number('BONDED_DATABASE_POOL_SIZE', {
    fallback: DEFAULTS.poolSize,
    min: MIN_POOL_SIZE,
    max: MAX_POOL_SIZE,
  })
  const timeouts = { min: MIN_TIMEOUT_MS, max: MAX_TIMEOUT_MS }
  const statementTimeoutMs = number('BONDED_DATABASE_STATEMENT_TIMEOUT_MS', {
    fallback: DEFAULTS.statementTimeoutMs,
    ...timeouts,
  })
  const lockTimeoutMs = number('BONDED_DATABASE_LOCK_TIMEOUT_MS', {
    fallback: DEFAULTS.lockTimeoutMs,
    ...timeouts,
  })
  const prepared = given('BONDED_DATABASE_PREPARED') ?? 'on'
  if (prepared !== 'on' && prepared !== 'off') wrong('BONDED_DATABASE_PREPARED')

  const url = given('BONDED_DATABASE_URL') ?? `sqlite:${dataDir}/bonded.db`
  const file = /^sqlite:(.+)$/.exec(url)?.[1]
  if (file !== undefined) return { databaseFile: file, postgres: undefined }
  const address = parseDatabaseUrl(url)
  if (address === undefined) {
    wrong('BONDED_DATABASE_URL')
    return { databaseFile: '', postgres: undefined }
  }
  return {
    databaseFile: '',
    postgres: { address, poolSize, statementTimeoutMs, lockTimeoutMs, prepared: prepared === 'on' },
  }
}

/** Returns the mistake of a flag `--database-url` that contains a password, if it does. */
export function passwordOnCommandLine(
  flag: string | undefined,
): readonly { readonly setting: string; readonly value: string; readonly expected: string }[] {
  if (flag === undefined || parseDatabaseUrl(flag)?.password === undefined) return []
  return [
    {
      setting: '--database-url',
      value: 'contains a password, which other accounts of this machine can read',
      expected: 'no password. Set BONDED_DATABASE_URL in the environment, or PGPASSWORD',
    },
  ]
}
