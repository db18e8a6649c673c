import type { Manifest } from '@bonded/store/backup/manifest'
import type { PostgresSource } from '@bonded/store/backup/postgres-backup'
import { closeService } from '@bonded/server/compose'
import type { Config } from '@bonded/server/settings/config'
import { type AfterRestore, afterRestore } from '@bonded/core/operations/admin/after-restore'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import type { AuditedAction } from '@bonded/core/domain/audit'
import { openService } from '../program/open.ts'

interface Restoring {
  readonly file: string
  readonly manifest: Manifest
  readonly config: Config
  readonly source: PostgresSource
  readonly keepLiveSessions: boolean
  readonly action: AuditedAction
}

/**
 * Restores a backup into the configured database, which must be empty, or contain what an
 * interrupted restore has left. Until it has finished, no node starts on the database.
 *
 * @returns how many live sessions it killed, and the log of receipts that it began
 * @throws {OperatorError} if the database is not empty, or another command restores into it
 */
export async function restoreToPostgres(restoring: Restoring): Promise<AfterRestore> {
  const { settings } = restoring.source
  const { withConnections } = await import('@bonded/store/postgres/open-postgres')
  const { markedWhile } = await import('@bonded/store/postgres/unfinished-restore')
  const { restorePostgres } = await import('@bonded/store/backup/postgres-backup')
  const restored = await withConnections(settings, (connections) =>
    markedWhile(connections, async () => {
      await restorePostgres(restoring.source, restoring)
      return endSessions(restoring)
    }),
  )
  if (typeof restored === 'string') throw rejection(settings.address.shown, restored)
  return restored.result
}

async function endSessions({ config, keepLiveSessions, action }: Restoring): Promise<AfterRestore> {
  const service = await openService(config, { restores: true })
  try {
    return await afterRestore(service, { isComplete: keepLiveSessions, action })
  } finally {
    await closeService(service)
  }
}

function rejection(shown: string, why: 'busy' | 'not_empty'): OperatorError {
  return new OperatorError(
    why === 'busy'
      ? `Another command restores into the ${shown}. Wait until it ends`
      : `The ${shown} is not empty, and a restore replaces nothing. Create another one (create database … encoding 'UTF8' template template0) and set BONDED_DATABASE_URL to it`,
    { code: 'conflict' },
  )
}
