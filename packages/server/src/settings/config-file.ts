import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { CarrierSettings } from '../adapters/carrier/carrier-client.ts'
import { parseCarriers } from './carriers-file.ts'
import { SETTINGS, type SettingName } from './settings.ts'

/** Settings as given, by name. */
export type Raw = Partial<Record<SettingName, string>>

/** One thing that is wrong with the configuration. */
export interface ConfigMistake {
  readonly setting: string
  /** What was given, unless it is a secret. */
  readonly value: string
  readonly expected: string
  /** The name in the environment of a setting that this version does not know. */
  readonly unknown?: string
}

/**
 * Reads the YAML file that `BONDED_CONFIG` names.
 *
 * @param ignored settings that this version does not know, as in the environment
 */
export function readFile(
  path: string | undefined,
  mistakes: ConfigMistake[],
  ignored: readonly string[] = [],
): Raw {
  if (path === undefined) return {}
  const wrong = (expected: string) => {
    mistakes.push({ setting: 'BONDED_CONFIG', value: JSON.stringify(path), expected })
    return {}
  }
  if (!existsSync(path)) return wrong('a file that exists')
  const members = yamlOf(path)
  if (typeof members !== 'object' || members === null || Array.isArray(members))
    return wrong('a YAML file of settings')
  const raw: Raw = {}
  for (const [key, value] of Object.entries(members)) {
    const setting = SETTINGS.find((candidate) => candidate.key === key)
    const name = `BONDED_${key.toUpperCase()}`
    if (setting) raw[setting.name] = String(value)
    else if (!ignored.includes(name))
      mistakes.push({
        unknown: name,
        // A line without its space has the value in the key.
        setting: `${path}: ${/^\w+$/.test(key) ? key : 'a member (not shown)'}`,
        value: 'is set',
        expected: `one of ${SETTINGS.map((candidate) => candidate.key).join(', ')}`,
      })
  }
  return raw
}

/** Reads the YAML file of carriers. */
export function readCarriers(
  path: string,
  { sandbox, mistakes }: { sandbox: boolean; mistakes: ConfigMistake[] },
): readonly CarrierSettings[] {
  if (!existsSync(path)) {
    mistakes.push({
      setting: 'BONDED_CARRIERS',
      value: JSON.stringify(path),
      expected: 'a file that exists',
    })
    return []
  }
  return parseCarriers(yamlOf(path), {
    path,
    sandbox,
    report: (setting, value, expected) => mistakes.push({ setting, value, expected }),
  })
}

/** What a YAML file says; undefined where it says nothing that can be read. */
function yamlOf(path: string): unknown {
  // Here, not above: a service without such a file starts without the parser.
  const { parse: parseYaml } = createRequire(import.meta.url)('yaml') as typeof import('yaml')
  try {
    return parseYaml(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
