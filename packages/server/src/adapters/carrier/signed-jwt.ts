import type { KeyObject } from 'node:crypto'
import { randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'

/** Allowance for a local clock that is fast: carriers reject an assertion issued in the future. */
const BACKDATED_S = 10
/** The profile allows 300 s. The assertion is used at once; this allows 2 minutes of clock skew. */
const LIFETIME_S = 120

export interface Signer {
  readonly clientId: string
  readonly key: KeyObject
  /** The `kid` by which the carrier selects the client's key. */
  readonly keyId: string | undefined
}

/** Signs a JWT whose `sub` is the client itself or the subject of the requested token. */
export function signedJwt(
  { clientId, key, keyId }: Signer,
  claims: { readonly sub: string; readonly aud: string; readonly scope?: string },
  now: number,
): Promise<string> {
  const { sub, aud, scope } = claims
  const issuedAt = Math.floor(now / 1000) - BACKDATED_S
  return new SignJWT(scope === undefined ? {} : { scope })
    .setProtectedHeader({
      alg: algorithmOf(key),
      typ: 'JWT',
      ...(keyId === undefined ? {} : { kid: keyId }),
    })
    .setIssuer(clientId)
    .setSubject(sub)
    .setAudience(aud)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + LIFETIME_S)
    .setJti(randomUUID())
    .sign(key)
}

/** The algorithm that OpenID Connect providers accept by default for this type of key. */
function algorithmOf(key: KeyObject): 'ES256' | 'RS256' {
  return key.asymmetricKeyType === 'ec' ? 'ES256' : 'RS256'
}
