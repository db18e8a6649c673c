import { Command, Option } from 'commander'
import { writeBackup } from '@bonded/store/backup/backup-file'
import { dumpSqlite } from '@bonded/store/backup/sqlite-backup'
import { systemClock } from '@bonded/store/clock/system-clock'
import type { Config } from '@bonded/server/settings/config'
import { VERSION } from '@bonded/server/version'
import type { Options } from '../program/open.ts'
import { print, showStep } from '../program/output.ts'
import { existingRootKeys } from './existing-root-keys.ts'
import { readServiceConfig } from '../program/service-config.ts'

interface BackupOptions extends Options {
  readonly postgresBin?: string
}

/** The folder of `pg_dump` and `pg_restore`. */
export function postgresProgramsOption(): Option {
  return new Option(
    '--postgres-bin <folder>',
    'Folder of pg_dump and pg_restore. Default: those that PATH finds',
  )
}

/** `bonded backup`: copies the database of a service, which may be running. */
export function backupCommand(): Command {
  return new Command('backup')
    .description('Write a sealed copy of the database to a new file. The service may be running')
    .argument('<file>', 'File to create')
    .addOption(postgresProgramsOption())
    .action(async (file: string, options: BackupOptions) => {
      const config = await readServiceConfig(options)
      const manifest = await writeBackup(
        file,
        {
          store: config.postgres === undefined ? 'sqlite' : 'postgresql',
          now: systemClock.now(),
          version: VERSION,
          rootKeys: await existingRootKeys(config),
        },
        async (draft) => {
          showStep(options, 'Copying and checking the database')
          const schema = await dump(config, options, draft)
          showStep(options, 'Sealing the copy')
          return schema
        },
      )
      const keys = manifest.root_keys.join(', ')
      print(options, { file, ...manifest, root_keys_included: false }, [
        `Wrote ${file} (${manifest.bytes} bytes, schema ${manifest.schema}).`,
        `It contains everything that the service acknowledged before ${manifest.created_at}.`,
        `It does NOT contain the root keys (${keys}). Without them it cannot be restored.`,
        `Store ${config.rootKeys.place} in a secret store, apart from the backup.`,
      ])
    })
}

async function dump(
  { databaseFile, postgres }: Config,
  { postgresBin }: BackupOptions,
  draft: string,
): Promise<number> {
  if (postgres === undefined) return dumpSqlite(databaseFile, draft)
  // Loaded here, because a backup of SQLite does not need it.
  const { dumpPostgres } = await import('@bonded/store/backup/postgres-backup')
  return dumpPostgres({ settings: postgres, bin: postgresBin }, draft)
}
