import type { SettingName } from './settings.ts'

/** Reads one setting after the other. */
export interface SettingReader {
  /** Returns a setting as given. */
  readonly given: (name: SettingName) => string | undefined
  /** Reports a setting that is not valid. */
  readonly wrong: (name: SettingName) => void
}
