import type { SettingVersions } from '@bonded/core/ports/tables/setting-table'
import type { Row } from '../statement.ts'
import { settingTable } from '../tables/setting-table.ts'
import type { Connections } from './server/connections.ts'
import { drive } from './sql-writes.ts'

/** The settings that versions of the service have stored. Changes nothing. */
export function settingsInPostgres(connections: Connections): Promise<SettingVersions> {
  return connections.run(async (connection) => {
    const [table] = (await connection.run({
      text: `select to_regclass('known_setting') is not null as found`,
      values: [],
    })) as readonly Row[]
    return table?.found ? drive(connection, settingTable.versions()) : new Map<string, string>()
  })
}

/** Stores the settings that this version knows, before its first node starts. */
export function recordInPostgres(
  connections: Connections,
  { names, version }: { readonly names: readonly string[]; readonly version: string },
): Promise<void> {
  return connections.run(async (connection) => {
    await connection.run({ text: 'begin', values: [] })
    await drive(connection, settingTable.record(names, version))
    await connection.commit()
  })
}
