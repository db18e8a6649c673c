import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { SettingVersions } from '@bonded/core/ports/tables/setting-table'
import { asStoreError } from './sqlite-errors.ts'
import { KNOWN_SETTINGS } from '../tables/setting-table.ts'

const WAIT_FOR_LOCK_MS = 5_000

/**
 * The settings that versions of the service have stored in a file. The file is not written.
 *
 * @throws {StoreError} if it cannot be read
 */
export function settingsInFile(file: string): SettingVersions {
  if (!existsSync(file)) return new Map()
  try {
    using database = new DatabaseSync(file, { readOnly: true, timeout: WAIT_FOR_LOCK_MS })
    const table = database
      .prepare("select 1 from sqlite_schema where type = 'table' and name = 'known_setting'")
      .get()
    const found = table === undefined ? [] : database.prepare(KNOWN_SETTINGS).all()
    return new Map(found.map(({ name, version }) => [String(name), String(version)]))
  } catch (cause) {
    throw asStoreError(cause, { to: 'open', where: file })
  }
}
