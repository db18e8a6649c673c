import { Command } from 'commander'
import { writeBackup } from '../adapters/backup/backup-file.ts'
import { dumpSqlite } from '../adapters/backup/sqlite-backup.ts'
import { systemClock } from '../adapters/clock/system-clock.ts'
import { readConfig } from '../config.ts'
import { OperatorError } from '../operations/admin/operator-error.ts'
import { VERSION } from '../version.ts'
import { jsonOption } from './arguments.ts'
import type { Options } from './open.ts'
import { print } from './output.ts'
import { rootKeyPlace, storedRootKeys } from './stored-root-keys.ts'

/** `bonded backup`: copies the database of a service, which may be running. */
export function backupCommand(): Command {
  return new Command('backup')
    .description('Write a sealed copy of the database to a new file. The service may be running')
    .argument('<file>', 'File to create')
    .addOption(jsonOption())
    .action(async (file: string, options: Options) => {
      const config = readConfig(process.env, options)
      if (config.postgres !== undefined)
        throw new OperatorError(
          'bonded backup copies a SQLite file. Back up a PostgreSQL database with pg_dump or pg_basebackup, and store the root keys apart from it',
        )
      const manifest = await writeBackup(
        file,
        {
          store: 'sqlite',
          now: systemClock.now(),
          version: VERSION,
          rootKeys: storedRootKeys(config),
        },
        (draft) => dumpSqlite(config.databaseFile, draft),
      )
      const keys = manifest.root_keys.join(', ')
      print(options, { file, ...manifest, root_keys_included: false }, [
        `Wrote ${file} (${manifest.bytes} bytes, schema ${manifest.schema}).`,
        `It contains everything that the service acknowledged before ${manifest.created_at}.`,
        `It does NOT contain the root keys (${keys}). Without them it cannot be restored.`,
        `Store ${rootKeyPlace(config)} in a secret store, apart from the backup.`,
      ])
    })
}
