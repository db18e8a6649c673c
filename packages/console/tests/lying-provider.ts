import { createServer } from 'node:http'
import { exportJWK, generateKeyPair, type JWK, SignJWT, UnsecuredJWT } from 'jose'
import { freePort } from '../../store/tests/servers/free-port.ts'
import { CLIENT } from './honest-provider.ts'

/** What is false in the next ID token. */
export interface Lie {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly alg?: 'none' | 'HS256'
  /** Signs with a key that is not published, under the id of one that is. */
  readonly otherKey?: boolean
}

/** A provider that returns any ID token that a test asks for. */
export async function lyingProvider() {
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const other = await generateKeyPair('ES256')
  const state = {
    lie: {} as Lie,
    nonce: '',
    /** Whether it answers nothing but 404. */
    isDown: false,
    /** What it answers instead, by path: a status, and the members of the body. */
    answers: {} as Readonly<Record<string, readonly [number, object]>>,
    /** Each request for a token waits for it. */
    beforeToken: async () => {},
    keys: [{ ...(await exportJWK(publicKey)), kid: 'k1', alg: 'ES256', use: 'sig' }] as JWK[],
  }
  const token = (): Promise<string> | string => {
    const { claims = {}, alg, otherKey = false } = state.lie
    const now = Math.floor(Date.now() / 1_000)
    const all = {
      iss: issuer,
      aud: CLIENT.client_id,
      sub: 'mallory',
      iat: now,
      exp: now + 300,
      nonce: state.nonce,
      groups: ['admins'],
      auth_time: now,
      ...claims,
    }
    if (alg === 'none') return new UnsecuredJWT(all).encode()
    if (alg === 'HS256')
      return new SignJWT(all)
        .setProtectedHeader({ alg })
        .sign(new TextEncoder().encode(CLIENT.client_secret.padEnd(32)))
    return new SignJWT(all)
      .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
      .sign(otherKey ? other.privateKey : privateKey)
  }
  const answers: Readonly<Record<string, () => object | Promise<object>>> = {
    '/.well-known/openid-configuration': () => ({
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256', 'HS256', 'none'],
    }),
    '/jwks': () => ({ keys: state.keys }),
    '/token': async () => {
      await state.beforeToken()
      return { access_token: 'a', token_type: 'Bearer', id_token: await token() }
    },
  }
  const server = createServer((request, response) => {
    void (async () => {
      const { pathname } = new URL(request.url ?? '', issuer)
      const answer = state.isDown ? undefined : await answers[pathname]?.()
      const [status, body] = state.answers[pathname] ?? [answer ? 200 : 404, answer ?? {}]
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    })()
  })
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve))
  return {
    issuer,
    state,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => void server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}
