import { ownMembers } from '@bonded/contract'
import { readAddress, type SessionAddress } from './snapshot.ts'

/** What a bond is for. Two requests are the same only if all of it is equal. */
interface Purpose {
  readonly publishableKey: string
  readonly workflow: string
  readonly action: string
  readonly context: unknown
}

/** The stored session of one request. A reload resumes it until the page has its outcome. */
export interface Resumption {
  /** The caller must read the session from the service before it uses it. */
  readonly load: () => SessionAddress | undefined
  readonly save: (address: SessionAddress) => void
  readonly remove: () => void
}

/**
 * The stored session of a request, in the tab's own storage. It is found only for the same key,
 * workflow, action and context, by their SHA-256: a page whose form has changed requests a new
 * session, and no value of the form is stored.
 *
 * Without a context, or in a browser without SHA-256 (a page that is not secure), nothing shows
 * that the request is the same, so nothing is stored.
 */
export async function resumptionOf(purpose: Purpose): Promise<Resumption> {
  const { workflow, action, context } = purpose
  const key = `pulse:${workflow}/${action}`
  const remove = () => inStorage((storage) => storage.removeItem(key))
  const digest = context === undefined ? undefined : await digestOf(purpose)
  if (digest === undefined) return { load: () => undefined, save: () => {}, remove }
  return {
    load: () =>
      inStorage((storage) => {
        const stored = ownMembers(JSON.parse(storage.getItem(key) ?? 'null'))
        return stored?.['request'] === digest ? readAddress(stored) : undefined
      }),
    save: (address) =>
      inStorage((storage) =>
        storage.setItem(
          key,
          // In the names of the wire, which no change of this code renames.
          JSON.stringify({
            id: address.id,
            watch_token: address.watchToken,
            api_base_url: address.apiBaseUrl,
            websocket_url: address.websocketUrl,
            tenant_id: address.tenantId,
            request: digest,
          }),
        ),
      ),
    remove,
  }
}

async function digestOf({ publishableKey, workflow, action, context }: Purpose) {
  try {
    const text = JSON.stringify([publishableKey, workflow, action, context])
    const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
    return String(new Uint8Array(bytes))
  } catch {
    return undefined
  }
}

/** Storage can be disabled, full or malformed. Then no session is resumed, and no error occurs. */
export function inStorage<T>(use: (storage: Storage) => T): T | undefined {
  try {
    return use(sessionStorage)
  } catch {
    return undefined
  }
}
