import { bare } from '@bonded/contract'

/** A user waits no longer for a file of the service. */
const RESPONSE_LIMIT_MS = 5_000

/**
 * The text of a file of the service. The browser rejects a file whose content differs from the one
 * that this script was built with.
 */
export async function loadFile(url: URL, integrity: string): Promise<string> {
  const response = await fetch(
    url,
    bare({
      integrity,
      credentials: 'omit',
      referrerPolicy: 'no-referrer',
      signal: AbortSignal.timeout(RESPONSE_LIMIT_MS),
    } satisfies RequestInit),
  )
  return response.text()
}
