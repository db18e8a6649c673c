const PLACEHOLDER = /\{([^{}]+)\}/g

/** The path of each placeholder of a template. */
export function placeholdersOf(template: string): readonly (readonly string[])[] {
  return Array.from(template.matchAll(PLACEHOLDER), ([, path = '']) => path.split('.'))
}

/**
 * Fills the placeholders of a template once: a value that looks like a placeholder stays as it is.
 * A member that is missing is empty.
 *
 * @throws {TypeError} where a member is an object or null
 * @example render('{amount} {currency}', { amount: 5, currency: 'EUR' }) // '5 EUR'
 */
export function render(template: string, members: object): string {
  return template.replace(PLACEHOLDER, (_placeholder, path: string) => {
    const value = valueAt(members, path.split('.'))
    if (value === undefined) return ''
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
      throw new TypeError(`${path} is no text, number or boolean`)
    return String(value)
  })
}

function valueAt(of: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return of
  const isObject = typeof of === 'object' && of !== null
  return isObject && Object.hasOwn(of, name)
    ? valueAt((of as Record<string, unknown>)[name], rest)
    : undefined
}
