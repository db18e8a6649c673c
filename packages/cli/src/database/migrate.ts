import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { Command } from 'commander'
import { systemClock } from '@bonded/store/clock/system-clock'
import {
  migrate,
  migrationStates,
  type MigrationState,
  rejectServedByOlder,
} from '@bonded/store/migrations/migrate'
import type { Config } from '@bonded/server/settings/config'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import type { Options } from '../program/open.ts'
import { print, showStep, table } from '../program/output.ts'
import { KNOWN_SETTINGS, readServiceConfig } from '../program/service-config.ts'

/** `bonded migrate`: the database schema. */
export function migrateCommand(): Command {
  const command = new Command('migrate').description('Apply and inspect schema migrations')
  command
    .command('up')
    .description('Apply all pending migrations in one transaction')
    .option(
      '--runtime-role <role>',
      'PostgreSQL role of the nodes: gets the rights that they need, and no others',
    )
    .action(async (options: Options & { runtimeRole?: string }) => {
      const { runtimeRole } = options
      showStep(options, 'Migrating the database')
      const applied = await applySteps(await readServiceConfig(options), runtimeRole)
      const schema =
        applied.length === 0
          ? ['The schema is current.']
          : applied.map((step) => `Applied ${step}.`)
      const rights =
        runtimeRole === undefined ? [] : [`The role ${runtimeRole} has the rights of a node.`]
      print(options, { applied, runtime_role: runtimeRole ?? null }, [...schema, ...rights])
    })
  command
    .command('status')
    .description('List all migrations and when each was applied')
    .action(async (options: Options) => {
      const states = await stepsOf(await readServiceConfig(options))
      const steps = states.map(({ number, name, appliedAt }) => ({
        number,
        name,
        applied_at: appliedAt,
      }))
      const rows = steps.map((step) => ({ ...step, applied_at: step.applied_at ?? 'pending' }))
      print(options, steps, table(['number', 'applied_at', 'name'], rows, 'No migrations.'))
    })
  return command
}

async function applySteps(
  { databaseFile, postgres }: Config,
  runtimeRole: string | undefined,
): Promise<readonly string[]> {
  const now = systemClock.now()
  if (postgres !== undefined) {
    // Loaded here, because a command on SQLite does not need it.
    const { withConnections } = await import('@bonded/store/postgres/open-postgres')
    const { migratePostgres } = await import('@bonded/store/postgres/postgres-migrate')
    const { recordInPostgres } = await import('@bonded/store/postgres/known-settings')
    return withConnections(postgres, async (connections) => {
      const applied = await migratePostgres(connections, now, { runtimeRole })
      await recordInPostgres(connections, KNOWN_SETTINGS)
      return applied
    })
  }
  if (runtimeRole !== undefined)
    throw new OperatorError('SQLite has no roles. Omit --runtime-role', { code: 'invalid' })
  mkdirSync(dirname(databaseFile), { recursive: true, mode: 0o700 })
  rejectServedByOlder(databaseFile)
  return migrate(databaseFile, now)
}

/** Every step of this program, and when it was applied to the configured database. */
export async function stepsOf({
  databaseFile,
  postgres,
}: Pick<Config, 'databaseFile' | 'postgres'>): Promise<readonly MigrationState[]> {
  if (postgres === undefined) return migrationStates(databaseFile)
  const { withConnections } = await import('@bonded/store/postgres/open-postgres')
  const { postgresMigrationStates } = await import('@bonded/store/postgres/postgres-migrate')
  return withConnections(postgres, postgresMigrationStates)
}
