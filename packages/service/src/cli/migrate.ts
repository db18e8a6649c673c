import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { Command } from 'commander'
import { systemClock } from '../adapters/clock/system-clock.ts'
import { migrate, migrationStates } from '../adapters/sql/migrate.ts'
import { readConfig } from '../config.ts'
import { jsonOption } from './arguments.ts'
import type { Options } from './open.ts'
import { print, table } from './output.ts'

/** `bonded migrate`: the database schema. */
export function migrateCommand(): Command {
  const command = new Command('migrate').description('Apply and inspect schema migrations')
  command
    .command('up')
    .description('Apply all pending migrations in one transaction')
    .addOption(jsonOption())
    .action((options: Options) => {
      const { databaseFile } = readConfig(process.env, options)
      mkdirSync(dirname(databaseFile), { recursive: true, mode: 0o700 })
      const applied = migrate(databaseFile, systemClock.now())
      print(
        options,
        { applied },
        applied.length === 0
          ? ['The schema is current.']
          : applied.map((step) => `Applied ${step}.`),
      )
    })
  command
    .command('status')
    .description('List all migrations and when each was applied')
    .addOption(jsonOption())
    .action((options: Options) => {
      const { databaseFile } = readConfig(process.env, options)
      const states = migrationStates(databaseFile)
      print(
        options,
        states.map(({ number, name, appliedAt }) => ({ number, name, applied_at: appliedAt })),
        table(
          ['STEP', 'APPLIED', 'NAME'],
          states.map(({ number, name, appliedAt }) => [
            String(number),
            appliedAt ?? 'pending',
            name,
          ]),
          'No migrations.',
        ),
      )
    })
  return command
}
