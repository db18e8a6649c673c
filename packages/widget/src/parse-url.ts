/** A parsed address; undefined for any other value. `URL.canParse` is newer than Safari 16.4. */
export function parseUrl(value: unknown): URL | undefined {
  try {
    return typeof value === 'string' ? new URL(value) : undefined
  } catch {
    return undefined
  }
}
