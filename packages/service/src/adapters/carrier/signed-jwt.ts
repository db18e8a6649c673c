import type { KeyObject } from 'node:crypto'
import { randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'

/** Our clock may run ahead: a carrier must refuse an assertion that was signed later than it arrived. */
const BACKDATED_S = 10
/** The profile allows 300 s. It is used at once; this leaves room for a clock that is two minutes off. */
const LIFE_S = 120

export interface Signer {
  readonly clientId: string
  readonly key: KeyObject
  /** How the carrier finds the key among ours. */
  readonly keyId: string | undefined
}

/** Signs what only this client can: who it is (`sub` is the client), or on whose behalf it asks. */
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
    .setExpirationTime(issuedAt + LIFE_S)
    .setJti(randomUUID())
    .sign(key)
}

/** What OpenID Connect providers take by default for the kind of key. */
function algorithmOf(key: KeyObject): 'ES256' | 'RS256' {
  return key.asymmetricKeyType === 'ec' ? 'ES256' : 'RS256'
}
