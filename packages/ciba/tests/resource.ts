import * as oauth from 'oauth4webapi'

/** A resource that acts once for each token, as the guide describes, and the calls of a client. */
export async function resourceOf(issuer: string, audience: string) {
  const insecure = { [oauth.allowInsecureRequests]: true }
  const url = new URL(issuer)
  const found = await oauth.discoveryRequest(url, { ...insecure, algorithm: 'oidc' })
  const server = await oauth.processDiscoveryResponse(url, found)
  const spent = new Set<string>()
  const handle = async (request: Request) => {
    const claims = await oauth.validateJwtAccessToken(server, request, audience, insecure)
    if (spent.has(claims.jti)) throw new Error('the token is spent')
    spent.add(claims.jti)
    return claims.authorization_details
  }
  return {
    /** What it acts on: the details that the user has approved. */
    async pay(token: string, keys: oauth.CryptoKeyPair | undefined): Promise<unknown> {
      let details: unknown
      await oauth.protectedResourceRequest(
        token,
        'POST',
        new URL('https://bank.example/payments'),
        undefined,
        undefined,
        {
          ...(keys && { DPoP: oauth.DPoP({}, keys) }),
          [oauth.customFetch]: async (to, init) => {
            details = await handle(new Request(to, init as RequestInit))
            return new Response()
          },
        },
      )
      return details
    },
  }
}
