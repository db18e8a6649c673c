import { ASSERTION_MEMBERS, bare, type CredentialLike, credentialMembers } from '@bonded/contract'
import type { BrowserRequest } from './request.ts'

/** A user needs some time, even where the service accepts the proof for less. */
const SHORTEST_PROMPT_MS = 1_000

/**
 * Asks the browser for an assertion, in the browser's own prompt. Call it within a click. The
 * authenticator offers its discoverable keys, because no page learns which ones the phone has.
 *
 * @returns the members of the credential that the service takes. It rejects as the browser does.
 */
export async function askBrowser(
  { rpId, until }: BrowserRequest,
  { challenge, signal }: { readonly challenge: ArrayBuffer; readonly signal: AbortSignal },
): Promise<{ readonly id: string }> {
  const credential = (await navigator.credentials.get(
    // Without prototypes: a browser also reads options that a page's library has inherited.
    bare({
      signal,
      publicKey: bare({
        challenge,
        rpId,
        userVerification: 'required' as const,
        hints: ['hybrid', 'client-device'],
        timeout: Math.max(until - performance.now(), SHORTEST_PROMPT_MS),
      }),
    }),
  )) as unknown as CredentialLike<(typeof ASSERTION_MEMBERS)[number]>
  return credentialMembers(credential, ASSERTION_MEMBERS)
}
