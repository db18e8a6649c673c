import { Socket } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { migrate } from '../../src/migrations/migrate.ts'
import { withConnections } from '../../src/postgres/open-postgres.ts'
import { migratePostgres } from '../../src/postgres/postgres-migrate.ts'
import { settingsOf } from '../servers/test-database.ts'
import { NEXT_STEPS, withSteps } from './next-steps.ts'

/**
 * A program that migrates the database of its argument to the artificial next version, and that
 * SIGKILL ends before the last statement of the step that rewrites rows.
 */
const [database = ''] = process.argv.slice(2)
const [, { statements }] = NEXT_STEPS
const last = statements.at(-1) ?? ''

// oxlint-disable-next-line typescript/unbound-method -- called with its object
const { exec } = DatabaseSync.prototype
DatabaseSync.prototype.exec = function (text) {
  if (text === last) process.kill(process.pid, 'SIGKILL')
  return exec.call(this, text)
}
// oxlint-disable-next-line typescript/unbound-method -- called with its object
const { write } = Socket.prototype
Socket.prototype.write = function (data: unknown, ...rest: unknown[]) {
  if (data instanceof Uint8Array && Buffer.from(data).includes(last))
    process.kill(process.pid, 'SIGKILL')
  return Reflect.apply(write, this, [data, ...rest]) as boolean
}

withSteps(NEXT_STEPS)
if (database.startsWith('postgres://'))
  await withConnections(settingsOf(database), (connections) => migratePostgres(connections, 0))
else migrate(database, 0)
