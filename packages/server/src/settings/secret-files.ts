import { existsSync, readFileSync, statSync } from 'node:fs'
import type { ConfigMistake } from './config-file.ts'
import type { SettingName } from './settings.ts'

/**
 * The settings that can be in a file of their own, as Docker, systemd, and Kubernetes mount
 * secrets: `BONDED_ROOT_KEYS_FILE` names a file whose content is `BONDED_ROOT_KEYS`.
 */
export const SECRET_FILES = [
  'BONDED_ROOT_KEYS',
  'BONDED_DATABASE_URL',
  'BONDED_TRACES_HEADERS',
] as const satisfies readonly SettingName[]
const MAX_BYTES = 64 * 1024

/**
 * Returns the environment with the content of the files in place of their names. A line break at
 * the end of a file does not count.
 *
 * @param mistakes gets a mistake for each file that cannot be read, and each setting given twice
 */
export function withSecretFiles(
  variables: NodeJS.ProcessEnv,
  mistakes: ConfigMistake[],
): NodeJS.ProcessEnv {
  const environment = { ...variables }
  for (const name of SECRET_FILES) {
    const setting = `${name}_FILE`
    const path = environment[setting]
    if (path === undefined) continue
    delete environment[setting]
    const content = contentOf(path)
    if (content === undefined)
      mistakes.push({
        setting,
        // A value that names no file can be the secret itself.
        value: existsSync(path) ? JSON.stringify(path) : '(not shown)',
        expected: 'a file that this user can read, with 1 to 65,536 bytes',
      })
    else if (environment[name] !== undefined)
      mistakes.push({ setting, value: 'is set', expected: `it or ${name}, not both` })
    else environment[name] = content
  }
  return environment
}

/** Undefined for what is not a file, is empty, or cannot be read. */
function contentOf(path: string): string | undefined {
  try {
    const { size } = statSync(path)
    // A device such as /dev/zero has no size and no end.
    if (size === 0 || size > MAX_BYTES) return undefined
    const content = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
    return content === '' ? undefined : content
  } catch {
    return undefined
  }
}
