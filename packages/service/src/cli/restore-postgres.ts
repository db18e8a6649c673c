import type { Manifest } from '../adapters/backup/manifest.ts'
import type { PostgresSource } from '../adapters/backup/postgres-backup.ts'
import { closeService } from '../compose.ts'
import type { Config } from '../config.ts'
import { endLiveSessions } from '../operations/admin/end-live-sessions.ts'
import { OperatorError } from '../operations/admin/operator-error.ts'
import { openService } from './open.ts'

/**
 * Restores a backup into the configured database, which must be empty.
 *
 * @returns how many live sessions it killed
 * @throws {OperatorError} if the database is not empty
 */
export async function restoreToPostgres(restoring: {
  readonly file: string
  readonly manifest: Manifest
  readonly config: Config
  readonly source: PostgresSource
  readonly keepLiveSessions: boolean
}): Promise<number> {
  const { file, manifest, config, source, keepLiveSessions } = restoring
  const { hasRelations, restorePostgres } = await import('../adapters/backup/postgres-backup.ts')
  if (await hasRelations(source.settings))
    throw new OperatorError(
      `the ${source.settings.address.shown} is not empty, and a restore replaces nothing. Create another one (create database … encoding 'UTF8' template template0) and set BONDED_DATABASE_URL to it`,
      { code: 'conflict' },
    )
  await restorePostgres(source, { file, manifest })
  const service = await openService(config)
  try {
    return keepLiveSessions ? 0 : await endLiveSessions(service)
  } finally {
    await closeService(service)
  }
}
