import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { Secret } from '@bonded/contract'
import pino from 'pino'
import { freePort } from '../../store/tests/servers/free-port.ts'
import type { Access } from '../src/access.ts'
import { ATTEMPT_COOKIE } from '../src/answer.ts'
import { claimAt } from '../src/groups-claim.ts'
import { Provider } from '../src/provider.ts'
import { Sessions } from '../src/sessions.ts'
import { ProviderSignIn } from '../src/sign-in.ts'
import { CLIENT } from './honest-provider.ts'
import { lyingProvider } from './lying-provider.ts'

/** A sign-in at a provider that answers what a test asks for, without a service. */
async function signIn(t: TestContext, change: Partial<Access> = {}) {
  const provider = await lyingProvider()
  t.after(() => provider[Symbol.asyncDispose]())
  const { issuer, state } = provider
  const lines: string[] = []
  const recorded: (string | undefined)[] = []
  const access: Access = {
    origin: 'http://localhost:8450',
    issuer,
    clientId: CLIENT.client_id,
    clientSecret: new Secret(CLIENT.client_secret),
    groupsClaim: 'groups',
    scopes: ['profile'],
    groups: { viewer: [], support: [], admin: ['admins'] },
    ...change,
  }
  const now = () => Date.now()
  const method = new ProviderSignIn(new Provider(access, now), {
    sessions: new Sessions(now),
    keys: { same: (one, other) => one === other },
    now,
    log: pino({}, { write: (line: string) => void lines.push(line) }),
    record: async (_action, _actor, result) => void recorded.push(result),
  })
  const call = (path: string, cookie = '') =>
    method.answer({
      method: 'GET',
      url: new URL(path, access.origin),
      form: new URLSearchParams(),
      address: '192.0.2.1',
      cookies: new Map([[ATTEMPT_COOKIE, cookie]]),
      session: undefined,
    })
  const pageOf = (answer: Awaited<ReturnType<typeof call>>) => ({
    status: answer?.status,
    text: JSON.stringify(answer?.body).replaceAll('&quot;', '\\"'),
  })
  /** The callback with this answer of the provider. */
  const finish = async (
    parameters: Readonly<Record<string, string>> = { code: 'c' },
    { from = '/sign-in', hasCookie = true } = {},
  ) => {
    const begun = await call(from)
    const { location, 'set-cookie': set } = (begun?.headers ?? {}) as Record<string, string>
    const asked = new URL(String(location)).searchParams
    state.nonce = asked.get('nonce') ?? ''
    const value = /=([^;]+)/.exec(String(set))?.[1] ?? ''
    const query = new URLSearchParams({ ...parameters, state: asked.get('state') ?? '' })
    return pageOf(await call(`/callback?${query.toString()}`, hasCookie ? value : ''))
  }
  return {
    method,
    issuer,
    state,
    lines,
    recorded,
    finish,
    begin: async () => pageOf(await call('/sign-in')),
  }
}

for (const [error, description, sentence] of [
  ['invalid_scope', 'requested scope is not allowed', /rejected the request of this console/],
  ['invalid_request', 'Pushed Authorization Request must be used', /rejected the request/],
  ['access_denied', 'End-User aborted interaction', /did not confirm a new sign-in/],
] as const)
  test(`the page and the log name ${error} of the authorization, with its description`, async (t) => {
    const { finish, lines } = await signIn(t)
    const { status, text } = await finish({ error, error_description: description })
    assert.equal(status, 403)
    assert.match(text, sentence)
    for (const part of [error, description]) {
      assert.ok(text.includes(part), text)
      assert.ok(lines.join('').includes(part), lines.join(''))
    }
  })

test('the page and the log name a wrong client secret, and no secret', async (t) => {
  const { finish, lines, state } = await signIn(t)
  const body = { error: 'invalid_client', error_description: 'client authentication failed' }
  state.answers = { '/token': [401, body] }
  const { status, text } = await finish()
  assert.equal(status, 403)
  assert.match(text, /rejected the request of this console.*its secret.*invalid_client/)
  assert.match(lines.join(''), /provider_rejected.*client authentication failed.*401/)
  assert.doesNotMatch(text + lines.join(''), new RegExp(CLIENT.client_secret))
})

test('a code that was used is a sign-in that was not confirmed', async (t) => {
  const { finish, state } = await signIn(t)
  state.answers = { '/token': [400, { error: 'invalid_grant' }] }
  assert.match((await finish()).text, /did not confirm a new sign-in.*invalid_grant/)
})

test('a token endpoint that fails is an outage of the provider, with its status in the log', async (t) => {
  const { finish, state, lines } = await signIn(t)
  state.answers = { '/token': [502, {}] }
  const { status, text } = await finish()
  assert.equal(status, 503)
  assert.match(text, /did not answer/)
  assert.match(lines.join(''), /status 502/)
})

/** The origin of a server that answers every request with a page of its own. */
async function firewall(t: TestContext, status: number): Promise<string> {
  const server = createServer((_request, response) =>
    response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Blocked</h1>'),
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('a page of a firewall in place of a token does not read as a canceled sign-in', async (t) => {
  const { finish, issuer, state, lines } = await signIn(t)
  const metadata = {
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${await firewall(t, 403)}/token`,
  }
  state.answers = { '/.well-known/openid-configuration': [200, metadata] }
  const { text } = await finish()
  assert.doesNotMatch(text, /canceled/)
  assert.match(text, /status 403/)
  assert.match(lines.join(''), /status 403/)
})

test('a page in place of the configuration of the provider is named', async (t) => {
  const { begin } = await signIn(t, { issuer: await firewall(t, 200) })
  assert.match((await begin()).text, /openid-configuration answered status 200 without JSON/)
})

test('a TLS connection that fails is named with its code', async (t) => {
  const origin = await firewall(t, 200)
  const { begin, lines } = await signIn(t, { issuer: origin.replace('http:', 'https:') })
  const { status, text } = await begin()
  assert.equal(status, 503)
  assert.match(text, /The TLS connection to the provider failed: ERR_SSL_/)
  assert.match(lines.join(''), /provider_unavailable.*ERR_SSL_/)
})

test('a sign-in that comes back without its cookie names cookies', async (t) => {
  const { finish, lines, recorded } = await signIn(t)
  const { status, text } = await finish({ code: 'c' }, { hasCookie: false })
  assert.equal(status, 403)
  assert.match(text, /sent no cookie.*blocks cookies/)
  assert.match(lines.join(''), /not_begun_here/)
  assert.deepEqual(recorded, [])
})

for (const [what, auth_time, sentence] of [
  ['does not say when the operator signed in', undefined, /auth_time/],
  ['has a clock that is behind', Math.floor(Date.now() / 1_000) - 60, /clock/],
] as const)
  test(`the page and the log say that the provider ${what}`, async (t) => {
    const { finish, state, lines } = await signIn(t)
    state.lie = { claims: { auth_time } }
    const { text } = await finish({ code: 'c' }, { from: '/sign-in?to=/&fresh' })
    assert.match(text, sentence)
    assert.match(lines.join(''), sentence)
  })

test('another issuer and a missing slash are named with both spellings', async (t) => {
  const { begin, method, issuer, state, lines } = await signIn(t)
  const metadata = { issuer: `${issuer}/realms/a/`, authorization_endpoint: `${issuer}/auth` }
  state.answers = { '/.well-known/openid-configuration': [200, metadata] }
  const { status, text } = await begin()
  assert.equal(status, 503)
  assert.match(text, /access file of this console do not fit/)
  assert.ok(text.includes(`the issuer ${issuer}, and the provider says ${issuer}/realms/a/.`), text)
  await method.check()
  assert.match(lines.at(-1) ?? '', /provider_misconfigured.*the sign-in does not work/)
})

test('a realm that does not exist is named with its status', async (t) => {
  const { begin, state, lines } = await signIn(t)
  state.isDown = true
  const { status, text } = await begin()
  assert.equal(status, 503)
  assert.match(text, /do not fit.*openid-configuration answered status 404/)
  assert.match(lines.join(''), /provider_misconfigured.*status 404/)
})

test('a provider that does not answer is an outage, whose address only the log has', async (t) => {
  const issuer = `http://127.0.0.1:${await freePort()}`
  const { begin, method, lines } = await signIn(t, { issuer })
  const { status, text } = await begin()
  assert.equal(status, 503)
  assert.match(text, /did not answer/)
  assert.ok(text.includes(issuer), text)
  assert.doesNotMatch(text, /ECONNREFUSED/)
  assert.match(lines.join(''), /provider_unavailable.*ECONNREFUSED/)
  await method.check()
  assert.match(lines.at(-1) ?? '', /ECONNREFUSED.*the sign-in does not work/)
})

test('a provider that requires pushed requests is named before the browser goes there', async (t) => {
  const { begin, issuer, state } = await signIn(t)
  const metadata = { issuer, require_pushed_authorization_requests: true }
  state.answers = { '/.well-known/openid-configuration': [200, metadata] }
  assert.match((await begin()).text, /requires pushed authorization requests/)
})

const MANY = { groups: undefined, _claim_names: { groups: 'src1' } }
for (const [shape, claims, sentence] of [
  ['other groups', { groups: ['a', 'b'] }, /has a, b. The access file gives none of them a role/],
  ['paths', { groups: ['/admins'] }, /has \/admins\. The access file/],
  [
    'objects',
    { groups: [{ id: '1', name: 'admins' }] },
    /a list of objects, with the members id, name/,
  ],
  [
    'nested groups',
    { groups: { roles: ['admins'] } },
    /of the type object, with the members roles/,
  ],
  ['more groups than Entra sends', MANY, /is left out, because it would be too long/],
  [
    'groups in the user info only',
    { groups: undefined },
    /is missing\. .* not only to the user info/,
  ],
  ['no groups', { groups: [] }, /is an empty list/],
  ['a number', { groups: 7 }, /of the type number/],
] as const)
  test(`the page and the log say which claim gives no role: ${shape}`, async (t) => {
    const { finish, state, lines, recorded } = await signIn(t)
    state.lie = { claims }
    const { status, text } = await finish()
    assert.equal(status, 403)
    assert.match(text, /None of your groups has a role here.*The claim groups of the ID token/)
    assert.match(text, sentence)
    assert.match(lines.join(''), sentence)
    assert.deepEqual(recorded, ['no_role'])
  })

test('a nested claim that is named gives the role', async (t) => {
  const { finish, state } = await signIn(t, { groupsClaim: 'realm_access.roles' })
  state.lie = { claims: { groups: undefined, realm_access: { roles: ['admins'] } } }
  assert.equal((await finish()).status, 303)
})

test('a claim is found by its name or its path, and never in a prototype', () => {
  const claims = {
    'https://bank.example/groups': 1,
    'a.b': 2,
    a: { b: 3, 'c.d': { e: 4 } },
    resource_access: { 'my.client': { roles: 5 } },
  }
  for (const [path, found] of [
    ['https://bank.example/groups', 1],
    ['a.b', 2],
    ['a.c.d.e', 4],
    ['resource_access.my.client.roles', 5],
    ['a.c', undefined],
    ['constructor.name', undefined],
    ['a.toString', undefined],
    ['', undefined],
  ] as const)
    assert.equal(claimAt(claims, path), found, path)
})
