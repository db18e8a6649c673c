import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { Command } from 'commander'
import { systemClock } from '../adapters/clock/system-clock.ts'
import { migrate, migrationStates } from '../adapters/sql/migrate.ts'
import { readConfig } from '../config.ts'
import { type Options, print } from './open.ts'

/** `bonded migrate`: the schema of the database. */
export function migrateCommand(): Command {
  const command = new Command('migrate').description(
    'Brings the database to the schema of this version.',
  )
  command
    .command('up')
    .description('Applies the steps that are missing, all or none.')
    .option('--json', 'print JSON')
    .action((options: Options) => {
      const { databaseFile } = readConfig(process.env, options)
      mkdirSync(dirname(databaseFile), { recursive: true, mode: 0o700 })
      const applied = migrate(databaseFile, systemClock.now())
      print(
        options,
        { applied },
        applied.length === 0
          ? ['Nothing to do: the schema is current.']
          : applied.map((step) => `applied ${step}`),
      )
    })
  command
    .command('status')
    .description('Lists the steps and when each was applied.')
    .option('--json', 'print JSON')
    .action((options: Options) => {
      const { databaseFile } = readConfig(process.env, options)
      const states = migrationStates(databaseFile)
      print(
        options,
        states.map(({ number, name, appliedAt }) => ({ number, name, applied_at: appliedAt })),
        states.map(
          ({ number, name, appliedAt }) => `${number}  ${name}  ${appliedAt ?? 'pending'}`,
        ),
      )
    })
  return command
}
