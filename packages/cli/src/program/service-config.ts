import type { Service } from '@bonded/core/operations/service'
import { StoreError } from '@bonded/core/ports/store'
import type { SettingVersions } from '@bonded/core/ports/tables/setting-table'
import {
  type Config,
  ConfigError,
  readConfig,
  type SettingFlags,
} from '@bonded/server/settings/config'
import { SECRET_FILES } from '@bonded/server/settings/secret-files'
import { SETTINGS } from '@bonded/server/settings/settings'
import { VERSION } from '@bonded/server/version'
import { settingsInFile } from '@bonded/store/sqlite/known-settings'

/** The settings of this version, as each node stores them for earlier versions. */
export const KNOWN_SETTINGS = {
  names: [...SETTINGS.map(({ name }) => name), ...SECRET_FILES.map((name) => `${name}_FILE`)],
  version: VERSION,
}

/** A setting of a newer version, which this one ignores. */
export interface IgnoredSetting {
  readonly setting: string
  readonly version: string
}

/**
 * The configuration. A setting that this version does not know is ignored if a newer version has
 * stored its name in the database, as during a rolling upgrade.
 *
 * @param onIgnored called for each of these settings; by default it prints a warning
 * @throws {ConfigError} with every mistake
 */
export async function readServiceConfig(
  flags: SettingFlags,
  onIgnored: (ignored: IgnoredSetting) => void = warn,
): Promise<Config> {
  try {
    return readConfig(process.env, flags)
  } catch (failure) {
    if (!(failure instanceof ConfigError) || failure.unknown.length === 0) throw failure
    const versions = await versionsIn(flags, failure)
    const ignored = failure.unknown.flatMap((setting) => {
      const version = versions.get(setting)
      return version === undefined || isOlder(version, VERSION) ? [] : [{ setting, version }]
    })
    const config = readConfig(process.env, flags, {
      ignored: ignored.map(({ setting }) => setting),
    })
    for (const each of ignored) onIgnored(each)
    return config
  }
}

/** Stores the settings of this version, unless a node has. */
export async function recordSettings({ store }: Pick<Service, 'store'>): Promise<void> {
  const stored = await store.read((tables) => tables.settings.versions())
  const { names, version } = KNOWN_SETTINGS
  const missing = names.filter((name) => !stored.has(name))
  if (missing.length > 0) await store.write((tables) => tables.settings.record(missing, version))
}

/** @throws {ConfigError} with the other mistakes, or if the database cannot be read */
async function versionsIn(flags: SettingFlags, failure: ConfigError): Promise<SettingVersions> {
  const { unknown: ignored, mistakes } = failure
  // Without the other settings, nothing says which database it is.
  if (mistakes.length > ignored.length) throw failure
  const { postgres, databaseFile } = readConfig(process.env, flags, { ignored })
  try {
    if (postgres === undefined) return settingsInFile(databaseFile)
    // Loaded here, because a service on SQLite does not need them.
    const { withConnections } = await import('@bonded/store/postgres/open-postgres')
    const { settingsInPostgres } = await import('@bonded/store/postgres/known-settings')
    return await withConnections(postgres, settingsInPostgres)
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause
    const expected = 'a database that can be read, because it has the settings of newer versions'
    const value = `cannot be read: ${cause.message}`
    throw new ConfigError([...mistakes, { setting: 'BONDED_DATABASE_URL', value, expected }])
  }
}

/** Compares the numbers of two versions. What follows a hyphen does not count. */
function isOlder(version: string, than: string): boolean {
  const [parts, others] = [version, than].map((text) =>
    (text.split('-')[0] ?? '').split('.').map(Number),
  ) as [number[], number[]]
  const first = parts.findIndex((part, index) => part !== others[index])
  return first >= 0 && (parts[first] ?? 0) < (others[first] ?? 0)
}

function warn({ setting, version }: IgnoredSetting): void {
  process.stderr.write(
    `warning: ${setting} is a setting of version ${version}. This version, ${VERSION}, ignores it.\n`,
  )
}
