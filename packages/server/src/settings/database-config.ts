import type { PostgresSettings } from '@bonded/store/postgres/server/connections'
import { parseDatabaseUrl } from '@bonded/store/postgres/server/database-url'
import type { ConfigMistake } from './config-file.ts'
import type { SettingReader } from './setting-reader.ts'

/** Where the service stores its data: a file of SQLite, or a PostgreSQL database. */
export interface DatabaseConfig {
  /** The SQLite file; empty with PostgreSQL. */
  readonly databaseFile: string
  readonly postgres: PostgresSettings | undefined
}

/** Of a pool, one connection is for writes and one for reads. */
const NUMBERS = {
  BONDED_DATABASE_POOL_SIZE: { fallback: '10', min: 2, max: 500 },
  BONDED_DATABASE_STATEMENT_TIMEOUT_MS: { fallback: '5000', min: 100, max: 60_000 },
  BONDED_DATABASE_LOCK_TIMEOUT_MS: { fallback: '2000', min: 100, max: 60_000 },
} as const
const LIBPQ: ConfigMistake = {
  setting: 'PGSSLMODE or PGSSLROOTCERT',
  value: 'is not valid',
  expected: 'disable or verify-full, and a file with the certificate of an authority',
}

/**
 * Reads the settings of the database.
 */
export function readDatabaseConfig(
  options: SettingReader & { readonly dataDir: string; readonly mistakes: ConfigMistake[] },
): DatabaseConfig {
  const { dataDir, given, wrong, mistakes } = options
  const number = (name: keyof typeof NUMBERS) => {
    const { fallback, min, max } = NUMBERS[name]
    const text = given(name) ?? fallback
    const value = Number(text)
    if (!/^\d{1,6}$/.test(text) || value < min || value > max) wrong(name)
    return value
  }
  const poolSize = number('BONDED_DATABASE_POOL_SIZE')
  const statementTimeoutMs = number('BONDED_DATABASE_STATEMENT_TIMEOUT_MS')
  const lockTimeoutMs = number('BONDED_DATABASE_LOCK_TIMEOUT_MS')
  const prepared = given('BONDED_DATABASE_PREPARED') ?? 'on'
  if (prepared !== 'on' && prepared !== 'off') wrong('BONDED_DATABASE_PREPARED')

  const url = given('BONDED_DATABASE_URL') ?? `sqlite:${dataDir}/bonded.db`
  const file = /^sqlite:(.+)$/.exec(url)?.[1]
  if (file !== undefined) return { databaseFile: file, postgres: undefined }
  const address = parseDatabaseUrl(url)
  if (address === undefined) {
    if (parseDatabaseUrl(url, {}) === undefined) wrong('BONDED_DATABASE_URL')
    else mistakes.push(LIBPQ)
    return { databaseFile: '', postgres: undefined }
  }
  return {
    databaseFile: '',
    postgres: { address, poolSize, statementTimeoutMs, lockTimeoutMs, prepared: prepared === 'on' },
  }
}

/** Returns the mistake of a flag `--database-url` that contains a password, if it does. */
export function passwordOnCommandLine(flag: string | undefined): readonly ConfigMistake[] {
  if (flag === undefined || parseDatabaseUrl(flag)?.password === undefined) return []
  return [
    {
      setting: '--database-url',
      value: 'contains a password, which other accounts of this machine can read',
      expected: 'no password. Set BONDED_DATABASE_URL in the environment, or PGPASSWORD',
    },
  ]
}
