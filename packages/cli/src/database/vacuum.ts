import { vacuumSqlite } from '@bonded/store/sqlite/vacuum-sqlite'
import { Command } from 'commander'
import { type Options } from '../program/open.ts'
import { print, showStep } from '../program/output.ts'
import { readServiceConfig } from '../program/service-config.ts'

/** `bonded vacuum`: removes what deleted rows leave in the files of the database. */
export function vacuumCommand(): Command {
  return new Command('vacuum')
    .description('Rewrite the database without the remains of deleted rows. Writes wait meanwhile')
    .action(async (options: Options) => {
      const { databaseFile, postgres } = await readServiceConfig(options)
      showStep(options, 'Rewriting the database')
      if (postgres === undefined) vacuumSqlite(databaseFile)
      else {
        // Loaded here, because a command on SQLite does not need it.
        const { vacuumPostgres } = await import('@bonded/store/postgres/vacuum-postgres')
        await vacuumPostgres(postgres)
      }
      print(options, { vacuumed: true }, ['The database has no remains of deleted rows.'])
    })
}
