import { createRemoteJWKSet, errors, jwtVerify } from 'jose'
import type { KeycloakRealm } from './config.ts'

/** With these, only the realm itself can sign. */
const ALGORITHMS = ['RS', 'PS', 'ES'].flatMap((kind) => ['256', '384', '512'].map((n) => kind + n))

/** What Keycloak says about one request in its bearer token. */
interface Bearer {
  readonly token: string
  readonly jti: string
  readonly client: string
  readonly sub: string
  /** In seconds since the epoch. */
  readonly exp: number
}

/**
 * Returns a function that reads the bearer token of a call. It returns undefined for what the realm
 * has not signed for this channel, and throws where the keys of the realm cannot be fetched.
 */
export function bearerReader({
  issuer,
  jwks_uri,
}: KeycloakRealm): (authorization?: string) => Promise<Bearer | undefined> {
  // A key that is not there is looked for again, at most every 30 s.
  const keys = createRemoteJWKSet(new URL(jwks_uri))
  const rules = { issuer, audience: issuer, algorithms: [...ALGORITHMS, 'EdDSA', 'Ed25519'] }
  const requiredClaims = ['exp']
  return async (authorization = '') => {
    const [, token = ''] = /^Bearer +(\S+)$/i.exec(authorization) ?? []
    try {
      const { payload } = await jwtVerify(token, keys, { ...rules, requiredClaims })
      const { jti, azp: client, sub, exp, aud, typ } = payload
      // The realm signs other tokens too, also for itself.
      if (typ !== 'Bearer' || [aud].flat().length !== 1) return undefined
      if (!isText(jti) || !isText(client) || !isText(sub)) return undefined
      return Number.isSafeInteger(exp) ? { token, jti, client, sub, exp: Number(exp) } : undefined
    } catch (error) {
      if (isOutage(error)) throw error
      return undefined
    }
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** Every other error of the library is about the token. */
function isOutage(error: unknown): boolean {
  if (error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid) return true
  return !(error instanceof errors.JOSEError) || error.code === errors.JOSEError.code
}
