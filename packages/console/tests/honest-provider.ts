import { createServer } from 'node:http'
import { Provider } from 'oidc-provider'
import { freePort } from '../../store/tests/servers/free-port.ts'

export const CLIENT = { client_id: 'console', client_secret: 'a secret of the test' }

/** A real OpenID provider, which signs one operator in without a question. */
export async function honestProvider(origin: string, { client_id } = CLIENT) {
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  const operator = { name: 'ada', groups: ['operators'] as readonly string[] }
  const seen: URLSearchParams[] = []
  const provider = new Provider(issuer, {
    clients: [
      {
        ...CLIENT,
        client_id,
        redirect_uris: [`${origin}/callback`],
        response_types: ['code'],
        grant_types: ['authorization_code'],
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ],
    cookies: { keys: ['a key of the test'] },
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    claims: { openid: ['sub'], profile: ['groups', 'preferred_username'] },
    conformIdTokenClaims: false,
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, accountId) => ({
      accountId,
      claims: async () => ({
        sub: accountId,
        groups: [...operator.groups],
        preferred_username: accountId,
      }),
    }),
    async loadExistingGrant(context) {
      const { client, session } = context.oidc
      const grant = new provider.Grant({
        clientId: client?.clientId ?? '',
        accountId: session?.accountId ?? '',
      })
      grant.addOIDCScope('openid profile')
      await grant.save()
      return grant
    },
  })
  const handle = provider.callback()
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', issuer)
    if (pathname === '/auth') seen.push(searchParams)
    if (!pathname.startsWith('/interaction/')) return void handle(request, response)
    void provider.interactionFinished(request, response, {
      login: { accountId: operator.name, remember: true },
    })
  })
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve))
  return {
    issuer,
    operator,
    /** The parameters of each authorization request. */
    seen,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => void server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}
