/** A parsed address; undefined for any other value. `URL.canParse` is newer than Safari 16.4. */
export function parseUrl(value: unknown, base?: string): URL | undefined {
  try {
    return typeof value === 'string' ? new URL(value, base) : undefined
  } catch {
    return undefined
  }
}
