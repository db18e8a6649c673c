import { X509Certificate } from 'node:crypto'
import type { BrowserContext } from 'playwright-core'
import {
  createAuthenticator,
  createAuthenticatorAuthority,
  noAttestation,
  pemOf,
  selfAttestation,
  WEBAUTHN_FLAGS,
} from '../../simulator/src/index.ts'

const MODEL = Buffer.from('8b3f1c5e2a7d4f609c1e5b7a9d0c2f41', 'hex')
const authority = createAuthenticatorAuthority(MODEL)

/** PEM of the vendor's root, for `webauthn.packed_roots`. */
export const VENDOR_ROOT = pemOf(new X509Certificate(authority.root).raw)

/** How a phone's platform authenticator makes its key. */
export type KeyKind = 'attested' | 'attested but synced' | 'self-attested' | 'unattested' | 'synced'

const { userPresent, userVerified, backupEligible, backedUp } = WEBAUTHN_FLAGS
const SYNCED = userPresent | userVerified | backupEligible | backedUp

/** The members of `PublicKeyCredential` that the page reads, with binary data in base64url. */
interface KeyResponse {
  readonly id: string
  readonly response: Readonly<Record<string, string>>
}

/**
 * Replaces the browser's authenticator by a simulated one, which a vendor attests. Chromium's own
 * virtual authenticator can only attest itself.
 *
 * @param origin the page's origin, as a browser would state it
 */
export async function installAuthenticator(
  context: BrowserContext,
  authenticator: { readonly origin: string; readonly kind: KeyKind },
): Promise<void> {
  const make = () => {
    // A test may change the kind between two keys.
    const { origin, kind } = authenticator
    const isAttested = kind.startsWith('attested')
    return createAuthenticator({
      origin,
      aaguid: isAttested ? MODEL : Buffer.alloc(16),
      attestation: isAttested
        ? authority.attestation
        : kind === 'self-attested'
          ? selfAttestation
          : noAttestation,
      ...(kind.endsWith('synced') ? { flags: SYNCED, counts: false } : {}),
    })
  }
  const keys = new Map<string, ReturnType<typeof make>>()
  await context.exposeBinding('createKey', (_source, challenge: string): KeyResponse => {
    const made = make()
    const { id, response } = made.register(challenge)
    keys.set(id, made)
    return { id, response: { ...response } }
  })
  await context.exposeBinding(
    'useKey',
    (_source, challenge: string, keyId: string): KeyResponse => {
      const own = keys.get(keyId)
      if (own === undefined) throw new RangeError('no such key')
      // The authenticator hashes its payload into the challenge; here the page has done so.
      const signed = own.assert('', { clientData: { challenge } })
      return {
        id: signed.key_id,
        response: {
          authenticatorData: signed.authenticator_data,
          clientDataJSON: signed.client_data_json,
          signature: signed.signature,
        },
      }
    },
  )
  await context.addInitScript(() => {
    const page = globalThis as unknown as Record<
      'createKey' | 'useKey',
      (challenge: string, keyId?: string) => Promise<KeyResponse>
    >
    interface Getting {
      readonly publicKey: {
        readonly challenge: Uint8Array
        readonly allowCredentials?: readonly { readonly id: Uint8Array }[]
      }
    }
    const text = (bytes: Uint8Array) =>
      btoa(String.fromCharCode(...bytes))
        .replaceAll('+', '-')
        .replaceAll('/', '_')
        .replaceAll('=', '')
    const bytes = (value: string) =>
      Uint8Array.from(atob(value.replaceAll('-', '+').replaceAll('_', '/')), (letter) =>
        letter.charCodeAt(0),
      ).buffer
    const credential = ({ id, response }: KeyResponse) => ({
      id,
      rawId: bytes(id),
      response: Object.fromEntries(
        Object.entries(response).map(([name, value]) => [name, bytes(value)]),
      ),
    })
    Object.defineProperty(navigator, 'credentials', {
      value: {
        create: async ({ publicKey }: { publicKey: { challenge: Uint8Array } }) =>
          credential(await page.createKey(text(publicKey.challenge))),
        get: async ({ publicKey: { challenge, allowCredentials } }: Getting) => {
          const keyId = text(allowCredentials?.[0]?.id ?? new Uint8Array())
          return credential(await page.useKey(text(challenge), keyId))
        },
      },
    })
  })
}
