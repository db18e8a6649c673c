import type { Manifest } from '../adapters/backup/manifest.ts'
import type { PostgresSource } from '../adapters/backup/postgres-backup.ts'
import { closeService } from '../compose.ts'
import type { Config } from '../config.ts'
import { endLiveSessions } from '../operations/admin/end-live-sessions.ts'
import { OperatorError } from '../operations/admin/operator-error.ts'
import { openService } from './open.ts'

interface Restoring {
  readonly file: string
  readonly manifest: Manifest
  readonly config: Config
  readonly source: PostgresSource
  readonly keepLiveSessions: boolean
}

/**
 * Restores a backup into the configured database, which must be empty, or contain what an
 * interrupted restore has left. Until it has finished, no node starts on the database.
 *
 * @returns how many live sessions it killed
 * @throws {OperatorError} if the database is not empty, or another command restores into it
 */
export async function restoreToPostgres(restoring: Restoring): Promise<number> {
  const { settings } = restoring.source
  const { withConnections } = await import('../adapters/sql/postgres/open-postgres.ts')
  const { markedWhile } = await import('../adapters/sql/postgres/unfinished-restore.ts')
  const { restorePostgres } = await import('../adapters/backup/postgres-backup.ts')
  const restored = await withConnections(settings, (connections) =>
    markedWhile(connections, async () => {
      await restorePostgres(restoring.source, restoring)
      return endSessions(restoring)
    }),
  )
  if (typeof restored === 'string') throw refusal(settings.address.shown, restored)
  return restored.result
}

async function endSessions({ config, keepLiveSessions }: Restoring): Promise<number> {
  const service = await openService(config, { restores: true })
  try {
    return keepLiveSessions ? 0 : await endLiveSessions(service)
  } finally {
    await closeService(service)
  }
}

function refusal(shown: string, why: 'busy' | 'not_empty'): OperatorError {
  return new OperatorError(
    why === 'busy'
      ? `Another command restores into the ${shown}. Wait until it ends`
      : `The ${shown} is not empty, and a restore replaces nothing. Create another one (create database … encoding 'UTF8' template template0) and set BONDED_DATABASE_URL to it`,
    { code: 'conflict' },
  )
}
