import { existsSync } from 'node:fs'
import { parseDatabaseUrl } from '@bonded/store/postgres/server/database-url'
import type { SettingName } from './settings.ts'

/** Besides the secrets: addresses that can have a credential, and files that have a key. */
export const MAY_HOLD_SECRET: readonly SettingName[] = [
  'BONDED_DATABASE_URL',
  'BONDED_TRACES_ENDPOINT',
  'BONDED_ROOT_KEYS_COMMAND',
  'BONDED_RECEIPT_KEYS',
  'BONDED_RECEIPT_COMMAND',
]

/**
 * What messages show of a value. Where a secret could be anywhere in it, as in a URL that is not
 * valid, or could be given instead of the name of its file, that is nothing.
 */
export function shownValue(name: SettingName, value: string): string {
  if (!MAY_HOLD_SECRET.includes(name)) return value
  const isKnown = /^(?:sqlite:|https?:\/\/[^@?#]*$)/.test(value) || existsSync(value)
  if (isKnown) return value
  const isAddress = name === 'BONDED_DATABASE_URL' && parseDatabaseUrl(value) !== undefined
  // Before the host of a valid URL, the first colon begins the password, and the last @ ends it.
  return isAddress ? value.replace(/(:\/\/[^/?#:]*):[^/?#]*@/, '$1:***@') : '(not shown)'
}

/** The value of a setting in the report of a mistake. */
export function quotedValue(name: SettingName, value: string): string {
  const shown = shownValue(name, value)
  return shown === value ? JSON.stringify(shown) : shown
}
