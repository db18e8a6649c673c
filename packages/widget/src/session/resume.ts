import { ownMembers } from '@bonded/contract'
import { readAddress, type SessionAddress } from './snapshot.ts'

interface Purpose {
  readonly workflow: string
  readonly action: string
  readonly context?: unknown
}

/**
 * Stores the address of this session until the page has its outcome. A reload then resumes the same
 * session, and so does a tab that the system discarded while the user was in the app. Only the
 * tab's own storage is used.
 */
export function saveAddress(purpose: Purpose, address: SessionAddress): void {
  inStorage((storage) =>
    storage.setItem(
      key(purpose),
      // In the names of the wire, which no change of this code renames.
      JSON.stringify({
        id: address.id,
        watch_token: address.watchToken,
        api_base_url: address.apiBaseUrl,
        websocket_url: address.websocketUrl,
        tenant_id: address.tenantId,
        context: fingerprint(purpose.context),
      }),
    ),
  )
}

/**
 * The stored session of the same purpose, or undefined. The caller must read it from the service
 * before it uses it.
 */
export function loadAddress(purpose: Purpose): SessionAddress | undefined {
  return inStorage((storage) => {
    const stored = ownMembers(JSON.parse(storage.getItem(key(purpose)) ?? 'null'))
    return stored?.['context'] === fingerprint(purpose.context) ? readAddress(stored) : undefined
  })
}

/** Deletes the stored session: the page has its outcome, and its next request is a new one. */
export function deleteAddress(purpose: Purpose): void {
  inStorage((storage) => storage.removeItem(key(purpose)))
}

function key({ workflow, action }: Purpose): string {
  return `pulse:${workflow}/${action}`
}

/**
 * Distinguishes a changed form from the same one without storing its values: a session that was
 * created for other values must not be resumed. FNV-1a detects mistakes, but gives no security.
 */
function fingerprint(context: unknown): number {
  let hash = 0x811c9dc5
  for (const character of JSON.stringify(context) ?? '')
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return hash >>> 0
}

/** Storage can be disabled, full or malformed. Then no session is resumed, and no error occurs. */
function inStorage<T>(use: (storage: Storage) => T): T | undefined {
  try {
    return use(sessionStorage)
  } catch {
    return undefined
  }
}
