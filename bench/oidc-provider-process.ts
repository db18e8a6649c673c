import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { randomBytes } from 'node:crypto'
import { Provider } from 'oidc-provider'
import { CLIENT_AUTHENTICATIONS, ISSUER, newCibaSecrets, newJwk } from './ciba-clients.ts'
import { respondToRequests, type Ready } from './process.ts'

/**
 * The peer: oidc-provider with CIBA in poll mode and its in-memory adapter, with one client for
 * each way of authenticating. It signs ID tokens with ES256, which costs a tenth of the default
 * RS256. One more route records a user's approval, as a phone's backend would.
 */
const secrets = newCibaSecrets()
const { d: _private, ...clientPublicKey } = secrets.clientKey
const provider = new Provider(ISSUER, {
  clients: CLIENT_AUTHENTICATIONS.map((method) => ({
    client_id: method,
    token_endpoint_auth_method: method,
    ...(method === 'private_key_jwt'
      ? { jwks: { keys: [clientPublicKey] }, token_endpoint_auth_signing_alg: 'ES256' }
      : { client_secret: secrets.clientSecret }),
    grant_types: ['urn:openid:params:grant-type:ciba'],
    response_types: [],
    redirect_uris: [],
    backchannel_token_delivery_mode: 'poll',
    id_token_signed_response_alg: 'ES256',
  })),
  jwks: { keys: [newJwk()] },
  cookies: { keys: [randomBytes(32).toString('hex')] },
  features: {
    devInteractions: { enabled: false },
    ciba: {
      enabled: true,
      deliveryModes: ['poll'],
      processLoginHint: (_: unknown, hint?: string) => hint,
      validateBindingMessage: () => {},
      validateRequestContext: () => {},
      verifyUserCode: () => {},
      triggerAuthenticationDevice: () => {},
    },
  },
  findAccount: (_: unknown, accountId: string) => ({
    accountId,
    claims: () => ({ sub: accountId }),
  }),
  ttl: { AccessToken: 300, BackchannelAuthenticationRequest: 300, Grant: 300, IdToken: 300 },
})
provider.on('server_error', (_, failure) => {
  throw failure
})
const oidc = provider.callback()

async function approve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { auth_req_id } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
    auth_req_id: string
  }
  const pending = await provider.BackchannelAuthenticationRequest.find(auth_req_id)
  if (pending === undefined) return void response.writeHead(404).end()
  const grant = new provider.Grant({ clientId: pending.clientId, accountId: pending.accountId })
  grant.addOIDCScope('openid')
  await grant.save()
  await provider.backchannelResult(pending, grant)
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': 2 }).end('{}')
}

const server = createServer(
  (request, response) =>
    void (request.url === '/approve' ? approve(request, response) : oidc(request, response)),
)
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  respondToRequests({ port, credential: JSON.stringify(secrets) } satisfies Ready)
})
