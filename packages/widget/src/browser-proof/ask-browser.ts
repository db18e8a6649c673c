import { bare, encodeBase64url } from '@bonded/contract'
import type { BrowserRequest } from './request.ts'

/** A user needs some time, even where the service accepts the proof for less. */
const SHORTEST_PROMPT_MS = 1_000

/**
 * Asks the browser for an assertion, in the browser's own prompt. Call it within a click.
 *
 * @returns the members that the service reads of the credential's `toJSON()`, which older browsers
 *   lack. It rejects as the browser does.
 */
export async function askBrowser(
  { rpId, credentials, until }: BrowserRequest,
  { challenge, signal }: { readonly challenge: ArrayBuffer; readonly signal: AbortSignal },
): Promise<object> {
  const credential = (await navigator.credentials.get(
    // Without prototypes: a browser also reads options that a page's library has inherited.
    bare({
      signal,
      publicKey: bare({
        challenge,
        rpId,
        allowCredentials: credentials.map((id) => bare({ type: 'public-key' as const, id })),
        userVerification: 'required' as const,
        hints: ['hybrid', 'client-device'],
        timeout: Math.max(until - performance.now(), SHORTEST_PROMPT_MS),
      }),
    }),
  )) as PublicKeyCredential
  const { clientDataJSON, authenticatorData, signature } =
    credential.response as AuthenticatorAssertionResponse
  const text = (bytes: ArrayBuffer) => encodeBase64url(new Uint8Array(bytes))
  return {
    id: text(credential.rawId),
    type: 'public-key',
    response: {
      clientDataJSON: text(clientDataJSON),
      authenticatorData: text(authenticatorData),
      signature: text(signature),
    },
  }
}
