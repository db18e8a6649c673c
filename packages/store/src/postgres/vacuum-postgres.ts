import { StoreError } from '@bonded/core/ports/store'
import type { Row } from '../statement.ts'
import { withConnections } from './open-postgres.ts'
import type { PostgresSettings } from './server/connections.ts'

/** Every table of the schema, and whether this role may rewrite it. */
const TABLES = `select relname as name, pg_has_role(relowner, 'usage')::int as is_owner from pg_class
  where relnamespace = current_schema()::regnamespace and relkind = 'r' order by relname`

/** The samples of columns that PostgreSQL keeps for its plans. An owner of the database may. */
const STATISTICS = 'pg_catalog.pg_statistic'

/** A large table is rewritten for hours. */
const MAX_TABLE_MS = 24 * 60 * 60_000
/** A lock is free after the longest transaction of a node, or a backup. */
const MAX_WAIT_MS = 60 * 60_000

/**
 * Writes every table anew, without dead rows, and the statistics of their columns. Each table is
 * locked meanwhile: nodes wait for it.
 *
 * @throws {StoreError} if the role does not own the tables
 */
export async function vacuumPostgres(settings: PostgresSettings): Promise<void> {
  const patient = { ...settings, statementTimeoutMs: MAX_TABLE_MS, lockTimeoutMs: MAX_WAIT_MS }
  await withConnections(patient, async (connections) => {
    const connection = await connections.take()
    try {
      const run = (text: string) => connection.run({ text, values: [] })
      const found = (await run(TABLES)) as readonly Row[]
      if (found.some(({ is_owner }) => is_owner !== 1))
        throw new StoreError(
          `${settings.address.shown} cannot be rewritten by this role. Run the command with the role that owns the database.`,
          { kind: 'unsuitable', where: settings.address.shown },
        )
      for (const { name } of found) await run(`vacuum (full, analyze) "${String(name)}"`)
      await run(`vacuum (full) ${STATISTICS}`)
    } finally {
      connection.release()
    }
  })
}
