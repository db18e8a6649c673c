import type { Work } from '../work.ts'

/** Names of settings, by the version of the service that stored them first. */
export type SettingVersions = ReadonlyMap<string, string>

/**
 * The settings that versions of the service know. An earlier version finds there that a setting
 * belongs to a later one.
 */
export interface SettingTable {
  /** Stores the names that no version has stored. */
  record(names: readonly string[], version: string): Work<void>
  versions(): Work<SettingVersions>
}
