import type { Bus } from '@bonded/core/ports/bus'
import type { Meter } from '@bonded/core/ports/meter'
import type { Store } from '@bonded/core/ports/store'
import type { IdKeys } from '@bonded/core/ports/keyring'
import type { DatabaseClock } from '../clock/database-clock.ts'
import { openSessionKeys } from '../tables/session-keys.ts'
import { checkServer, timeOf } from './server/check-server.ts'
import { Connections, type PostgresSettings } from './server/connections.ts'
import { asStoreError } from './postgres-errors.ts'
import { migratePostgres } from './postgres-migrate.ts'
import { PostgresStore } from './postgres-store.ts'
import { agreeOnSettings, type SharedSettings } from './node-settings.ts'
import { Transaction } from './transaction.ts'
import { rejectUnfinishedRestore } from './unfinished-restore.ts'

/** Creates the store once the rest of the service exists. */
export type OpenStore = (parts: { readonly bus: Bus; readonly meter: Meter }) => Store

/**
 * Connects to the database, checks the server, and migrates the schema if the role may do so.
 *
 * @param parts.clock follows the clock of the server until the store closes
 * @param parts.restores whether this is the command that restores the database
 * @param parts.shared the settings of a node that will serve; a command has none
 * @throws {StoreError} if the server cannot be reached, or acknowledges what it could lose, or if
 *   a restore did not finish, or if other nodes run with other settings, or if the schema is not
 *   complete and another role must migrate it
 * @throws {MigrationError} if the schema does not match this program
 */
export async function openPostgres(
  settings: PostgresSettings,
  {
    now,
    clock,
    idKeys,
    restores = false,
    shared,
  }: {
    now: number
    clock?: DatabaseClock
    idKeys: IdKeys
    restores?: boolean
    shared?: SharedSettings | undefined
  },
): Promise<OpenStore> {
  const connections = await Connections.open(settings)
  try {
    await checkServer(connections)
    if (!restores) await rejectUnfinishedRestore(connections)
    if (clock !== undefined) {
      const askedAt = clock.machineTime()
      clock.read({ askedAt, databaseTime: await timeOf(connections) })
    }
    await migratePostgres(connections, now)
    if (shared !== undefined) await agreeOnSettings(connections, shared)
    const connection = await connections.take()
    try {
      const steps = new Transaction(connection, { begin: [], isCareful: true })
      const sessionKeys = await steps.drive(openSessionKeys(idKeys))
      return (parts) => {
        const unread = { clockAheadMs: 0, roundTripMs: 0 }
        parts.meter.watchDatabase(() => ({
          ...(clock?.figures() ?? unread),
          ...connections.counts(),
        }))
        return new PostgresStore(connections, { ...parts, sessionKeys, clock })
      }
    } finally {
      connection.release()
    }
  } catch (cause) {
    await connections[Symbol.asyncDispose]()
    throw asStoreError(cause, { to: 'open', where: settings.address.shown })
  }
}

/**
 * Runs `work` on connections to a checked server, and closes them.
 *
 * @throws {StoreError} if the server cannot be reached, or acknowledges what it could lose
 */
export async function withConnections<T>(
  settings: PostgresSettings,
  work: (connections: Connections) => Promise<T>,
): Promise<T> {
  await using connections = await Connections.open(settings)
  try {
    await checkServer(connections)
    return await work(connections)
  } catch (cause) {
    throw asStoreError(cause, { to: 'open', where: settings.address.shown })
  }
}
