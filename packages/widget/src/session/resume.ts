import { ownMembers } from './members.ts'
import { isWebAddress, readAddress, type SessionAddress } from './read.ts'

interface Purpose {
  readonly workflow: string
  readonly action: string
  readonly context?: unknown
}

/**
 * Keeps where to watch this session until its outcome is told, so that a reload, or a tab that the phone's
 * system discarded while its owner was in the app, goes on with the same one. The tab's own storage only.
 */
export function remember(purpose: Purpose, address: SessionAddress): void {
  inStorage((storage) =>
    storage.setItem(
      key(purpose),
      JSON.stringify({ ...address, context: fingerprint(purpose.context) }),
    ),
  )
}

/** The session kept for the same purpose; undefined where there is none. The service must be asked about it. */
export function recall(purpose: Purpose): SessionAddress | undefined {
  return inStorage((storage) => {
    const kept = ownMembers(JSON.parse(storage.getItem(key(purpose)) ?? 'null'))
    if (
      kept === undefined ||
      kept['context'] !== fingerprint(purpose.context) ||
      !isWebAddress(kept['apiBaseUrl'])
    )
      return undefined
    return readAddress({
      id: kept['id'],
      watch_token: kept['watchToken'],
      api_base_url: kept['apiBaseUrl'],
      websocket_url: kept['websocketUrl'],
      tenant_id: kept['tenantId'],
    })
  })
}

/** Forgets it: the page has the outcome, and its next request is a new one. */
export function forget(purpose: Purpose): void {
  inStorage((storage) => storage.removeItem(key(purpose)))
}

function key({ workflow, action }: Purpose): string {
  return `pulse:${workflow}/${action}`
}

/**
 * Tells a changed form from the same one without keeping what was typed: a session made for other values must
 * not be resumed. FNV-1a; it guards against a mistake, not against anybody.
 */
function fingerprint(context: unknown): number {
  let hash = 0x811c9dc5
  for (const character of JSON.stringify(context) ?? '')
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
  return hash >>> 0
}

/** Storage can be forbidden, full or filled by somebody else: then nothing is resumed, and nothing breaks. */
function inStorage<T>(use: (storage: Storage) => T): T | undefined {
  try {
    return use(sessionStorage)
  } catch {
    return undefined
  }
}
