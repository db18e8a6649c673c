import type { SettingVersions } from '@bonded/core/ports/tables/setting-table'
import type { Row } from '../statement.ts'
import { settingTable } from '../tables/setting-table.ts'
import type { Connections } from './server/connections.ts'
import { OutcomeUnknown, Transaction } from './transaction.ts'

/** The settings that versions of the service have stored. Changes nothing. */
export function settingsInPostgres(connections: Connections): Promise<SettingVersions> {
  return connections.run(async (connection) => {
    const [table] = (await connection.run({
      text: `select to_regclass('known_setting') is not null as found`,
      values: [],
    })) as readonly Row[]
    if (!table?.found) return new Map<string, string>()
    return new Transaction(connection, { begin: [], isCareful: true }).drive(
      settingTable.versions(),
    )
  })
}

/** Stores the settings that this version knows, before its first node starts. */
export async function recordInPostgres(
  connections: Connections,
  { names, version }: { readonly names: readonly string[]; readonly version: string },
): Promise<void> {
  const connection = await connections.take()
  const begin = [{ text: 'begin', values: [] }]
  const transaction = new Transaction(connection, { begin, isCareful: true })
  try {
    await transaction.drive(settingTable.record(names, version))
  } catch (failure) {
    await connection.abandon()
    throw failure
  }
  await transaction.commit().catch((failure: unknown) => {
    throw failure instanceof OutcomeUnknown ? failure.cause : failure
  })
}
