import { encodeBase64url, type Members, ownMembers } from '@bonded/contract'
import type { Instant } from '../session/snapshot.ts'

/** What the service asks this browser for, as the public view describes it. */
export interface BrowserRequest {
  readonly rpId: string
  /** The names of the credentials of the phone that approved. Undefined if the service has none. */
  readonly hashes: readonly unknown[] | undefined
  /** The service accepts the proof until then. */
  readonly until: Instant
}

/** The `browser` of a public view; undefined where this version cannot read it. */
export function readRequest(browser: unknown): BrowserRequest | undefined {
  const {
    rp_id: rpId,
    credential_hashes: hashes,
    timeout_ms: timeoutMs,
  } = ownMembers(browser) ?? {}
  if (typeof rpId !== 'string' || typeof timeoutMs !== 'number') return undefined
  const until = performance.now() + timeoutMs
  return { rpId, hashes: Array.isArray(hashes) ? hashes : undefined, until }
}

/**
 * A new secret, base64url of 32 random bytes, followed by its commitment, `SHA(secret)`,
 * which leaves the browser in place of the secret.
 */
export async function newSecret(): Promise<string> {
  const secret = encodeBase64url(crypto.getRandomValues(new Uint8Array(32)))
  return secret + encodeBase64url(new Uint8Array(await sha256(secret)))
}

/** The commitment of a new secret. Both have the same length. */
export const commitmentIn = (secret: string) => secret.slice(secret.length / 2)

/**
 * The challenge of the proof (protocol 14). It names the origin that the page really has, and this
 * browser by its commitment.
 */
export function challengeOf(view: Members, commitment: string): Promise<ArrayBuffer> {
  const { id: session_id, tenant_id, workflow, action } = view
  return sha256(
    // The canonical text (RFC 8785): the names are in order, and the values are texts or null.
    JSON.stringify({
      action,
      commitment,
      origin: location.origin,
      session_id,
      tenant_id,
      typ: 'bonded-browser/v1',
      workflow,
    }),
  )
}

/**
 * Whether an assertion is of a credential of the phone that approved. Another one never leaves the
 * page: it contains the commitment, with which the phone that approved could bond this browser.
 */
export async function isOfPhone(
  { hashes }: BrowserRequest,
  { session, credential_id }: { readonly session: string; readonly credential_id: string },
): Promise<boolean> {
  // The canonical text (RFC 8785): the names are in order.
  const name = { credential_id, session_id: session, typ: 'bonded-browser-credential/v1' }
  const hash = encodeBase64url(new Uint8Array(await sha256(JSON.stringify(name))))
  return hashes?.includes(hash) ?? true
}

function sha256(text: string): Promise<ArrayBuffer> {
  return crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
}
