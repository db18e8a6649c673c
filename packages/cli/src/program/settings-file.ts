import { readFileSync } from 'node:fs'
import type { Static, TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { Settings } from 'typebox/system'
import { parse } from 'yaml'
import { SettingsFileError } from './settings-file-error.ts'

/**
 * Reads a file of settings (YAML).
 *
 * @param rules.defaults the members that the file may leave out
 * @param rules.problemsOf what the schema cannot say, each with its member, such as `/origin: …`
 * @throws {SettingsFileError} with everything that is wrong with it
 */
export function readSettingsFile<const Schema extends TSchema>(
  file: string,
  rules: {
    readonly schema: Schema
    readonly defaults: object
    readonly problemsOf: (settings: Static<Schema>) => Iterable<string>
  },
): Static<Schema> {
  const value = parsed(file)
  const { schema, defaults, problemsOf } = rules
  const settings = typeof value === 'object' && value !== null ? { ...defaults, ...value } : value
  // By default, it names the first eight.
  Settings.Set({ maxErrors: 1_000 })
  const errors = Compile(schema).Errors(settings)
  const problems =
    errors.length > 0
      ? errors.flatMap(({ keyword, instancePath, message }) =>
          // The member itself is named too.
          keyword === 'additionalProperties'
            ? []
            : `${instancePath || '/'}: ${keyword === 'boolean' ? 'is no member' : message}`,
        )
      : [...problemsOf(settings as Static<Schema>)]
  if (problems.length > 0)
    throw new SettingsFileError(`${file} is invalid:\n${problems.join('\n')}`)
  return settings as Static<Schema>
}

/** The text of a file. @throws {SettingsFileError} if it cannot be read */
export function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw unreadable(file, cause)
  }
}

function parsed(file: string): unknown {
  const text = textOf(file)
  try {
    return parse(text, { maxAliasCount: 0 })
  } catch (cause) {
    throw unreadable(file, cause)
  }
}

function unreadable(file: string, cause: unknown): SettingsFileError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new SettingsFileError(`${file} cannot be read: ${reason}`, { cause })
}
