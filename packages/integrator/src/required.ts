import { GateError } from './errors.ts'

/** What a required option is, or the methods that it must have. */
type Kind = 'a function' | 'a text' | 'an object' | readonly string[]

/**
 * Checks required options before anything uses them: JavaScript does not, and a variable that is
 * not set would be noticed only in front of a user.
 *
 * @param of the public function whose options they are
 * @throws {GateError} `invalid_configuration`, which names the option
 */
export function requireOptions(
  of: string,
  given: unknown,
  required: Readonly<Record<string, Kind>>,
): void {
  for (const [name, kind] of Object.entries(required)) {
    const value = (given as Readonly<Record<string, unknown>> | undefined | null)?.[name]
    if (isOfKind(value, kind)) continue
    const wanted = typeof kind === 'string' ? kind : `an object with ${kind.join(', ')}`
    throw new GateError('invalid_configuration', `Pass ${name} to ${of}: ${wanted}.`)
  }
}

function isOfKind(value: unknown, kind: Kind): boolean {
  if (kind === 'a function') return typeof value === 'function'
  if (kind === 'a text') return typeof value === 'string' && value !== ''
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false
  const members = value as Readonly<Record<string, unknown>>
  return kind === 'an object' || kind.every((name) => typeof members[name] === 'function')
}
