import { mkdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { Command } from 'commander'
import { extractPayload } from '@bonded/store/backup/backup-file'
import { BackupError, type Manifest, readManifest } from '@bonded/store/backup/manifest'
import type { PostgresSource } from '@bonded/store/backup/postgres-backup'
import { restoringCopyOf } from '@bonded/store/backup/restoring-copy'
import { databaseExists, installCopy, verifyCopy } from '@bonded/store/backup/sqlite-backup'
import { systemClock } from '@bonded/store/clock/system-clock'
import { MIGRATIONS } from '@bonded/store/migrations/migrations'
import { realName } from '@bonded/store/sqlite/real-name'
import { lockForServing } from '@bonded/store/sqlite/serving-lock'
import { closeService } from '@bonded/server/compose'
import type { Config } from '@bonded/server/settings/config'
import { type AfterRestore, afterRestore } from '@bonded/core/operations/admin/after-restore'
import type { AuditedAction } from '@bonded/core/domain/audit'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { postgresProgramsOption } from './backup.ts'
import { actionOf } from '../program/audited.ts'
import { openService, type Options } from '../program/open.ts'
import { print, showStep } from '../program/output.ts'
import { StartedParts } from '../node/started-parts.ts'
import { existingRootKeys } from './existing-root-keys.ts'
import { readServiceConfig } from '../program/service-config.ts'

interface RestoreOptions extends Options {
  readonly replace?: boolean
  readonly keepLiveSessions?: boolean
  readonly postgresBin?: string
}

/** `bonded restore`: the database of a service, from a file of `bonded backup`. */
export function restoreCommand(): Command {
  return new Command('restore')
    .description('Verify a backup and make it the database. The service must be stopped')
    .argument('<file>', 'File that bonded backup wrote')
    .option('--replace', 'Replace an existing SQLite file, which stays beside it under a new name')
    .option(
      '--keep-live-sessions',
      'Keep sessions that were live. Only for a backup that was made after the service stopped',
    )
    .addOption(postgresProgramsOption())
    .action(async (file: string, options: RestoreOptions) => {
      const config = await readServiceConfig(options)
      const action = actionOf(options, config)
      const manifest = readManifest(file, await existingRootKeys(config))
      checkStore(file, manifest, config)
      checkVersion(file, manifest)
      if (config.postgres !== undefined) {
        const source = { settings: config.postgres, bin: options.postgresBin }
        return restorePostgresFile({ file, manifest, config, options, action, source })
      }
      mkdirSync(dirname(config.databaseFile), { recursive: true, mode: 0o700 })
      // A link stays a link: its target is replaced, as SQLite would write to it.
      const databaseFile = realName(config.databaseFile)
      // Held to the end, so that no service starts meanwhile.
      await using held = new StartedParts()
      held.use(lockForServing(databaseFile))
      if (options.replace !== true && databaseExists(databaseFile))
        throw new OperatorError(
          `${databaseFile} exists. To replace it, run the command with --replace; the existing database stays beside it under a new name`,
          { code: 'conflict' },
        )
      const { after, replaced } = await restoreFile({
        file,
        manifest,
        config: { ...config, databaseFile },
        options,
        action,
      })
      printRestored({ database: databaseFile, manifest, options, after, replaced })
    })
}

/** @throws {BackupError} if the backup is one of the other kind of database */
function checkStore(file: string, manifest: Manifest, { postgres }: Config): void {
  if (postgres === undefined && manifest.store !== 'sqlite')
    throw new BackupError(
      `${file} is a backup of a PostgreSQL database, and BONDED_DATABASE_URL names a SQLite file. Set BONDED_DATABASE_URL to a PostgreSQL database.`,
    )
  if (postgres !== undefined && manifest.store !== 'postgresql')
    throw new BackupError(
      `${file} is a backup of a SQLite file, and BONDED_DATABASE_URL names a PostgreSQL database. Set BONDED_DATABASE_URL to a file.`,
    )
}

/**
 * A schema that this version does not know can be restored, but its live sessions not ended.
 *
 * @throws {BackupError} if a newer version wrote the backup
 */
function checkVersion(file: string, { schema, version }: Manifest): void {
  if (MIGRATIONS.some(({ number }) => number === schema)) return
  throw new BackupError(
    `${file} was written by bonded ${version}, which is newer than this version. Restore it with that version or a later one.`,
  )
}

async function restorePostgresFile(
  restoring: Restoring & { readonly source: PostgresSource },
): Promise<void> {
  const { manifest, options, source } = restoring
  if (options.replace === true)
    throw new OperatorError(
      '--replace replaces a SQLite file. Restore into an empty PostgreSQL database, and set BONDED_DATABASE_URL to it',
      { code: 'invalid' },
    )
  showStep(options, 'Restoring into the database')
  // Loaded here, because a restore of SQLite does not need it.
  const { restoreToPostgres } = await import('./restore-postgres.ts')
  const after = await restoreToPostgres({
    ...restoring,
    keepLiveSessions: options.keepLiveSessions === true,
  })
  const database = source.settings.address.shown
  printRestored({ database, manifest, options, after, replaced: undefined })
}

function printRestored(restored: {
  readonly database: string
  readonly manifest: Manifest
  readonly options: RestoreOptions
  readonly after: AfterRestore
  readonly replaced: string | undefined
}): void {
  const { database, manifest, options, replaced } = restored
  const { killed, log } = restored.after
  print(
    options,
    {
      database,
      replaced: replaced ?? null,
      backup: manifest,
      killed_sessions: killed,
      receipt_log: log ?? null,
    },
    [
      `Restored ${database} as it was at ${manifest.created_at}.`,
      ...(replaced === undefined ? [] : [`The previous database is ${replaced}.`]),
      ...(options.keepLiveSessions === true
        ? ['Live sessions were kept.']
        : [`Killed ${killed} sessions that were live at that time.`]),
      ...(log === undefined
        ? []
        : [
            `Closed the log of receipts ${log.closed} with ${log.entries} entries. ${log.origin} continues it. If the service makes receipts, tell your tenants, and the operators of the witnesses.`,
          ]),
      'Changes after that time are not in it. Repeat the revocations of keys, and the blocks and removals of devices and subjects, before you start the service.',
    ],
  )
}

interface Restoring {
  readonly file: string
  readonly manifest: Manifest
  readonly config: Config
  readonly options: RestoreOptions
  readonly action: AuditedAction
}

/** The database changes only at the end, when the copy has proved that this version can use it. */
async function restoreFile({
  file,
  manifest,
  config,
  options,
  action,
}: Restoring): Promise<{ after: AfterRestore; replaced: string | undefined }> {
  const copy = restoringCopyOf(config.databaseFile)
  removeCopy(config.databaseFile)
  try {
    showStep(options, 'Opening the backup')
    await extractPayload(file, manifest, copy)
    showStep(options, 'Checking the copy')
    verifyCopy(copy)
    showStep(options, 'Migrating the copy, and ending its live sessions')
    const service = await openService({ ...config, databaseFile: copy })
    let after: AfterRestore
    try {
      after = await afterRestore(service, {
        isComplete: options.keepLiveSessions === true,
        action,
      })
    } finally {
      await closeService(service)
    }
    return { after, replaced: installCopy(copy, config.databaseFile, systemClock.now()) }
  } finally {
    removeCopy(config.databaseFile)
  }
}

/** Also what an interrupted restore has left. */
function removeCopy(databaseFile: string): void {
  for (const suffix of ['', '-wal', '-shm'])
    rmSync(`${restoringCopyOf(databaseFile)}${suffix}`, { force: true })
}
