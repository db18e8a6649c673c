import type { SettingTable } from '@bonded/core/ports/tables/setting-table'
import { rows, sent } from '../statement.ts'

/** The settings that versions of the service know. */
export const settingTable: SettingTable = {
  *record(names, version) {
    for (const name of names)
      yield* sent(
        'insert into known_setting (name, version) values ($1, $2) on conflict (name) do nothing',
        [name, version],
      )
  },

  *versions() {
    const found = yield* rows(KNOWN_SETTINGS, [])
    return new Map(found.map(({ name, version }) => [String(name), String(version)]))
  },
}

/** Also for a program that only reads, before it opens the store. */
export const KNOWN_SETTINGS = 'select name, version from known_setting'
