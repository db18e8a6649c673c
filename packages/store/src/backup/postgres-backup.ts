import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PostgresSettings } from '../postgres/server/connections.ts'
import { withConnections } from '../postgres/open-postgres.ts'
import { rejectUnfinishedRestore } from '../postgres/unfinished-restore.ts'
import type { Row } from '../statement.ts'
import { extractPayload } from './backup-file.ts'
import { Cleanup } from './cleanup.ts'
import type { Manifest } from './manifest.ts'
import { PostgresPrograms } from './postgres-programs.ts'

/** A database of PostgreSQL, and the folder of the programs that copy it. */
export interface PostgresSource {
  readonly settings: PostgresSettings
  /** Undefined: the programs that PATH finds. */
  readonly bin: string | undefined
}

/**
 * Copies a database into a file with `pg_dump`, which reads one snapshot. The nodes keep writing
 * meanwhile, and the copy has no part of a later change.
 *
 * @returns the number of the latest migration in the copy
 * @throws {BackupError} if `pg_dump` is missing, older than the server, or fails
 * @throws {StoreError} if the database cannot be read, or a restore into it did not finish
 */
export async function dumpPostgres(source: PostgresSource, copy: string): Promise<number> {
  const { settings } = source
  const programs = await programsFor(source)
  await withConnections(settings, rejectUnfinishedRestore)
  const [server] = await rowsOf(settings, SERVER)
  programs.check('pg_dump', Number(server?.major))
  programs.check('pg_restore', Number(server?.major))
  const [schema] = await rowsOf(settings, 'select max(number) as latest from migration')
  await programs.run('pg_dump', ['--format=custom', ...FOREIGN, NO_UNLOGGED, `--file=${copy}`])
  // Reads and decompresses the whole copy.
  await programs.run('pg_restore', ['--file=-', copy])
  return Number(schema?.latest)
}

/**
 * Restores a backup whose manifest was verified into an empty database, all of it or nothing.
 *
 * @throws {BackupError} if the payload differs from the manifest, or if `pg_restore` is missing,
 *   older than the server, or fails
 * @throws {StoreError} if the database cannot be written
 */
export async function restorePostgres(
  source: PostgresSource,
  { file, manifest }: { readonly file: string; readonly manifest: Manifest },
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-restore-'))
  using cleanup = new Cleanup()
  cleanup.add(() => rmSync(folder, { recursive: true, force: true }))
  const copy = join(folder, 'payload')
  await extractPayload(file, manifest, copy)
  await restoreCopy(source, copy)
}

async function restoreCopy(source: PostgresSource, copy: string): Promise<void> {
  const { settings } = source
  const programs = await programsFor(source)
  const [server] = await rowsOf(settings, SERVER)
  programs.check('pg_restore', Number(server?.major))
  const database = settings.address.database.replaceAll(/[\\']/g, String.raw`\$&`)
  await programs.run('pg_restore', [
    '--single-transaction',
    '--exit-on-error',
    ...FOREIGN,
    `--dbname=dbname='${database}'`,
    copy,
  ])
}

/** The programs for the one server that the service would use. libpq would take an old primary. */
async function programsFor({ settings, bin }: PostgresSource): Promise<PostgresPrograms> {
  const server = await withConnections(settings, async (connections) => connections.server)
  return new PostgresPrograms({ ...settings.address, hosts: [server] }, bin)
}

/** The roles of the server differ from those of the server that the copy comes from. */
const FOREIGN = ['--no-owner', '--no-privileges'] as const
/** The messages between nodes are of no use to another cluster. */
const NO_UNLOGGED = '--no-unlogged-table-data'

const SERVER = `select current_setting('server_version_num')::int / 10000 as major`
function rowsOf(settings: PostgresSettings, text: string): Promise<readonly Row[]> {
  return withConnections(settings, async (connections) => {
    const connection = await connections.take()
    try {
      return (await connection.run({ text, values: [] })) as readonly Row[]
    } finally {
      connection.release()
    }
  })
}
