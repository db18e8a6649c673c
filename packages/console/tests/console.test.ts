import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeId } from '@bonded/contract'
import { AUDIT_CLASSES } from '@bonded/cli/program/audit-classes'
import { StoreError } from '@bonded/core/ports/store'
import { SESSION_COOKIE } from '../src/answer.ts'
import { match } from '../src/page.ts'
import { includes, ROLES } from '../src/roles.ts'
import { ROUTES } from '../src/routes.ts'
import { Sessions } from '../src/sessions.ts'
import { addressOf, namesIn } from './addresses.ts'
import { MINUTE } from './harness.ts'
import { send, tokenIn, type Visitor } from './http-client.ts'
import { MARKUP, setup } from './setup.ts'

test('each route is shown to its role and to those above it, and each refusal is in the audit log', async (t) => {
  const { h, signedIn, entries } = await setup(t)
  const names = await namesIn(h)
  for (const role of ROLES) {
    const visitor = await signedIn(role)
    for (const route of ROUTES) {
      const before = (await entries()).length
      const { status } = await visitor.open(addressOf(route.path, names))
      const recorded = (await entries()).slice(before)
      if (includes(role, route.role)) {
        assert.equal(status, 200, `${role} ${route.path}`)
        assert.ok(recorded.every(({ result }) => result === 'success'))
        const isPersonal = AUDIT_CLASSES[route.action] === 'reads_person'
        assert.equal(
          recorded.some(({ action }) => action === route.action),
          isPersonal,
        )
      } else {
        assert.equal(status, 403, `${role} ${route.path}`)
        assert.deepEqual(
          recorded.map(({ result }) => result),
          ['refused_role'],
        )
      }
    }
  }
})

test('every route names a command of the audit log, and no two match one path', () => {
  for (const route of ROUTES) {
    const action = 'changes' in route ? route.changes : route.action
    assert.ok(AUDIT_CLASSES[action] !== undefined, action)
    assert.deepEqual(ROUTES.filter(({ path }) => match(path, route.path)).length, 1, route.path)
  }
})

test('a browser without a session gets no page, and returns to it after the sign-in', async (t) => {
  const { h, origin, provider, visitor, entries } = await setup(t)
  const { session } = await h.reach('bonded')
  const path = `/sessions/${session.id}`
  const refused = await send(`${origin}${path}`)
  assert.equal(refused.status, 303)
  assert.equal(refused.headers['location'], `/sign-in?to=${encodeURIComponent(path)}`)
  assert.equal(refused.text, '')
  assert.deepEqual(await entries(), [])
  const page = await visitor().open(path)
  assert.equal(new URL(page.url).pathname, path)
  assert.match(page.text, /What happened/)
  const [asked] = provider.seen
  assert.equal(asked?.get('code_challenge_method'), 'S256')
  assert.ok((asked?.get('state') ?? '').length >= 43 && (asked?.get('nonce') ?? '').length >= 43)
  assert.deepEqual(
    (await entries()).map(({ action, actor, result }) => [action, actor, result]),
    [
      ['console sign-in', 'ada', 'success'],
      ['session timeline', 'ada', 'success'],
    ],
  )
})

test('the sign-in returns to no other site', async (t) => {
  const { visitor, origin } = await setup(t)
  for (const to of ['//evil.example', '/\\evil.example', 'https://evil.example', '/%0d%0aa:b'])
    assert.equal(
      new URL((await visitor().open(`/sign-in?to=${encodeURIComponent(to)}`)).url).origin,
      origin,
    )
})

test('an operator without a group of a role is rejected, and a removed group ends the session', async (t) => {
  const { provider, visitor, signedIn, advance, entries } = await setup(t)
  provider.operator.groups = ['others']
  const rejected = await visitor().open('/')
  assert.equal(rejected.status, 403)
  assert.match(rejected.text, /None of your groups has a role here/)
  const ada = await signedIn()
  provider.operator.groups = []
  assert.equal((await ada.open('/')).status, 200)
  advance(10 * MINUTE)
  assert.equal((await ada.open('/rejections')).status, 403)
  const step = await ada.step('/rejections')
  assert.equal(step.status, 303, 'the session goes on')
  assert.deepEqual(
    (await entries()).map(({ result }) => result).filter((result) => result !== 'success'),
    ['no_role', 'no_role'],
  )
})

test('a role that was reduced counts at the next read of the groups', async (t) => {
  const { provider, signedIn, advance } = await setup(t)
  const ada = await signedIn('support')
  provider.operator.groups = ['viewers']
  advance(10 * MINUTE)
  assert.equal((await ada.open('/rejections')).status, 403)
  assert.equal((await ada.open('/tenants')).status, 200)
})

test('a session ends after 30 minutes without a request, and after 8 hours', async (t) => {
  const { signedIn, advance } = await setup(t)
  // A form with a wrong token changes nothing, and says whether there is a session.
  const isSignedIn = async (visitor: Visitor) => {
    const { text } = await visitor.submit('/sign-out', { token: 'wrong' })
    return !text.includes('Your session has ended')
  }
  const idle = await signedIn()
  advance(30 * MINUTE - 1)
  assert.ok(await isSignedIn(idle))
  advance(30 * MINUTE)
  assert.ok(!(await isSignedIn(idle)))
  const busy = await signedIn()
  for (let passed = 0; passed < 8 * 60; passed += 20) {
    assert.ok(await isSignedIn(busy))
    advance(20 * MINUTE)
  }
  assert.ok(!(await isSignedIn(busy)))
})

test('a stolen cookie is of no use after the sign-out, nor after the next sign-in', async (t) => {
  const { origin, signedIn, entries } = await setup(t)
  const ada = await signedIn()
  const cookie = () => `${SESSION_COOKIE}=${ada.cookies.get(origin)?.get(SESSION_COOKIE)}`
  const first = cookie()
  await ada.open('/sign-in')
  assert.notEqual(cookie(), first)
  const second = cookie()
  assert.equal((await send(origin, { headers: { cookie: second } })).status, 200)
  assert.equal((await send(origin, { headers: { cookie: first } })).status, 303)
  assert.equal((await ada.submit('/sign-out')).headers['location'], '/signed-out')
  assert.equal((await send(origin, { headers: { cookie: second } })).status, 303)
  assert.deepEqual((await entries()).at(-1)?.action, 'console sign-out')
})

test('an action needs a recent sign-in, the form of the session, and its own origin', async (t) => {
  const { h, signedIn, advance, entries, provider } = await setup(t)
  let session = await h.create()
  let path = `/sessions/${session.id}/end`
  const state = async () => (await h.get(session)).body.state
  const ada = await signedIn()
  const asked = await ada.open(path)
  assert.match(asked.text, /You cannot undo this/)
  const token = tokenIn(asked.text)
  for (const [given, status] of [
    [{ token: 'x' }, 403],
    [{ token, origin: 'https://evil.example' }, 403],
    [{ token, origin: 'null' }, 403],
  ] as const) {
    assert.equal((await ada.submit(path, given)).status, status)
    assert.equal(await state(), 'pending')
  }
  const other = await signedIn()
  assert.equal((await other.submit(path, { token })).status, 403)
  advance(5 * MINUTE)
  const late = await ada.submit(path, { token })
  assert.equal(late.status, 403)
  assert.match(late.text, /Your sign-in is too long ago/)
  session = await h.create()
  path = `/sessions/${session.id}/end`
  const again = await ada.open(path)
  assert.equal(again.status, 200)
  assert.equal(provider.seen.at(-1)?.get('prompt'), 'login')
  assert.equal(provider.seen.at(-1)?.get('max_age'), '0')
  const done = await ada.submit(path, { token: tokenIn(again.text), form: { reason: MARKUP } })
  assert.equal(done.status, 409)
  const ended = await ada.submit(path, { token: tokenIn(again.text), form: { reason: 'T-1 <b>' } })
  assert.equal(ended.headers['location'], `/sessions/${session.id}`)
  assert.equal(await state(), 'killed')
  assert.deepEqual((await entries()).at(-1), {
    action: 'session kill',
    actor: 'ada',
    result: 'success',
    reason: 'T-1 <b>',
  })
  const twice = await ada.submit(path, { token: tokenIn(again.text) })
  assert.equal(twice.status, 303)
  assert.match((await ada.open('/changes')).text, /T-1 &lt;b&gt;/)
})

test('a viewer cannot act, also with the address and a token of the own session', async (t) => {
  const { h, signedIn, entries } = await setup(t)
  const session = await h.create()
  const viewer = await signedIn('viewer')
  assert.equal((await viewer.submit(`/sessions/${session.id}/end`)).status, 403)
  assert.equal((await h.get(session)).body.state, 'pending')
  assert.deepEqual((await entries()).at(-1)?.result, 'refused_role')
  assert.deepEqual((await entries()).at(-1)?.action, 'session kill')
})

test('no other site makes a request, frames a page, or names this server', async (t) => {
  const { origin, signedIn } = await setup(t)
  const ada = await signedIn()
  const from = (headers: Record<string, string>) => ada.step('/', { headers })
  const framed = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
  assert.equal((await from({ ...framed, 'sec-fetch-dest': 'iframe' })).status, 403)
  assert.equal(
    (await from({ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' })).status,
    403,
  )
  assert.equal(
    (await from({ 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' })).status,
    403,
  )
  assert.equal((await from({ ...framed, 'sec-fetch-dest': 'document' })).status, 200)
  assert.equal((await from({ host: 'evil.example' })).status, 421)
  assert.equal((await ada.step('/sign-out', { method: 'POST' })).status, 403)
  assert.equal((await ada.step('/', { method: 'PUT' })).status, 403)
  const { headers } = await send(origin)
  assert.match(
    String(headers['content-security-policy']),
    /default-src 'none'.*frame-ancestors 'none'/,
  )
  assert.equal(headers['x-frame-options'], 'DENY')
  assert.equal(headers['cache-control'], 'no-store')
})

test('a cookie is for this host over TLS, and no script reads it', async (t) => {
  const { visitor, provider } = await setup(t)
  provider.operator.groups = ['admins']
  const begun = await visitor().step('/sign-in')
  assert.match(
    String(begun.headers['set-cookie']),
    /^__Host-bonded-console-sign-in=\S+; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=600$/,
  )
})

test('a callback without its attempt, with a changed one, or too late begins no session', async (t) => {
  const { origin, visitor, advance, entries } = await setup(t)
  const walk = async (change: (cookie: string) => string, wait = 0) => {
    const ada = visitor()
    const begun = await ada.step('/sign-in')
    let url = new URL(String(begun.headers['location']))
    while (url.origin !== origin) {
      const { headers } = await ada.step(url.href)
      url = new URL(String(headers['location']), url)
    }
    advance(wait)
    const [[name, value]] = [...(ada.cookies.get(origin) ?? [])] as [[string, string]]
    return send(url.href, { headers: { cookie: `${name}=${change(value)}` } })
  }
  assert.equal((await walk((value) => value)).status, 303)
  for (const [change, wait] of [
    [() => '', 0],
    [(value: string) => value.replace('any', 'fresh'), 0],
    [(value: string) => value.replace(/\.\d+\./, `.${Date.now() + 1}.`), 0],
    [(value: string) => value, 10 * MINUTE],
  ] as const)
    assert.equal((await walk(change, wait)).status, 403)
  // Anyone can call the callback, so that only sign-ins are recorded.
  assert.equal((await send(`${origin}/callback?code=a&state=b`)).status, 403)
  assert.deepEqual(
    (await entries()).map(({ action }) => action),
    ['console sign-in'],
  )
})

test('the log says what prevents a page from reading the database', async (t) => {
  const { h, signedIn, lines } = await setup(t)
  const ada = await signedIn()
  const cause = new Error('database or disk is full')
  const failure = new StoreError('The database failed', { kind: 'full', cause })
  t.mock.method(h.service.store, 'read', () => Promise.reject(failure))
  assert.equal((await ada.open('/tenants')).status, 503)
  const [line = '', ...others] = lines
  const { kind, detail, msg } = JSON.parse(line) as Readonly<Record<string, string>>
  assert.deepEqual(
    [kind, detail, msg],
    ['full', 'The database failed: database or disk is full', 'the database does not answer'],
  )
  assert.deepEqual(others, [])
})

test('stored text is never markup', async (t) => {
  const { h, signedIn } = await setup(t)
  const other = await h.addTenant({ name: MARKUP })
  const named = await h.service.store.write(function* (tables) {
    yield* tables.tenants.addPublishableKey({
      key: 'pk_beta_markup',
      tenantId: other.tenant.id,
      scope: null,
      name: MARKUP,
      now: h.clock.now(),
    })
  })
  assert.equal(named, undefined)
  const context = { display: [{ label: 'To', value: '<b>ACME</b> & Co' }] }
  const session = await h.create({ workflow: 'credit_application', context })
  const ada = await signedIn('admin')
  const pages = [
    `/tenants?q=${encodeURIComponent(MARKUP)}`,
    `/tenants/${other.tenant.id}`,
    `/sessions/${session.id}`,
    `/rejections?q=${encodeURIComponent(MARKUP)}&reason=${encodeURIComponent(MARKUP)}`,
    `/changes?action=${encodeURIComponent(MARKUP)}`,
  ]
  for (const path of pages) {
    const { status, text } = await ada.open(path)
    assert.equal(status, 200)
    assert.doesNotMatch(text, /<script|<b>ACME|\u202e/, path)
  }
  assert.match((await ada.open(pages[2] ?? '')).text, /&lt;b&gt;ACME&lt;\/b&gt; &amp; Co/)
})

test('a page without its subject says so, and the address of none is not found', async (t) => {
  const { h, signedIn } = await setup(t)
  const ada = await signedIn()
  const unknown = makeId('sess', h.service.random.id())
  for (const path of [
    `/sessions/${unknown}`,
    `/receipt?session=${unknown}`,
    '/sessions/x',
    '/none',
  ])
    assert.equal((await ada.open(path)).status, 404, path)
  assert.match((await ada.open(`/sessions/${unknown}`)).text, /deletes sessions some time after/)
  assert.match((await ada.open('/health?tenant=ten_x')).text, /This is no tenant id/)
  assert.match((await ada.open('/changes?about=sess_x')).text, /This is no id of a tenant/)
  assert.match((await ada.open('/health?workflow=w')).text, /choose a tenant too/)
  assert.match((await ada.open('/health?span=x')).text, /No request was created or ended/)
})

test('ignores a number or a text in a query that a database rejects', async (t) => {
  const { signedIn } = await setup(t)
  const ada = await signedIn('support')
  for (const path of [
    ...['Infinity', '1e300', '1.5', '-1', 'x'].map((before) => `/changes?before=${before}`),
    '/changes?action=%00',
    '/changes?about=%00&since=%00',
    '/rejections?reason=%00',
    '/rejections?q=%00&after=999999999999999.x',
    '/health?workflow=%00&span=hour',
    '/health?tenant=%00&span=%00&end=%00',
    '/tenants?q=%00',
  ])
    assert.equal((await ada.open(path)).status, 200, path)
  for (const path of ['/receipt?session=%00', '/user?tenant=%00&subject_ref=%00', '/sessions/%00'])
    assert.equal((await ada.open(path)).status, 404, path)
})

test('what operators only read is listed with the changes where they choose it', async (t) => {
  const { h, signedIn } = await setup(t)
  const ada = await signedIn()
  const { id } = await h.create()
  await ada.open(`/sessions/${id}`)
  assert.doesNotMatch((await ada.open('/changes')).text, /session timeline/)
  for (const query of ['reads=1', 'action=session+timeline'])
    assert.match((await ada.open(`/changes?${query}`)).text, /session timeline/, query)
})

test('an operator has ten sessions, of which the oldest ends, and ends none of another', () => {
  const sessions = new Sessions(() => 0)
  const begin = (subject: string, issuer?: string) =>
    sessions.begin({ subject, issuer, label: 'ada', role: 'admin', provedAt: 0 }, undefined)
  const isOpen = (id: string) => sessions.find(id, { isUsed: false }) !== undefined
  const [grace, otherAda] = [begin('grace'), begin('ada', 'https://login.example')]
  const ada = Array.from({ length: 12 }, () => begin('ada'))
  assert.deepEqual(ada.map(isOpen), [false, false, ...Array.from({ length: 10 }, () => true)])
  for (let n = 0; n < 600; n++) begin('ada')
  assert.deepEqual([isOpen(grace), isOpen(otherAda)], [true, true])
})

test('a page that reads itself again does not keep its session', () => {
  let now = 0
  const sessions = new Sessions(() => now)
  const operator = { subject: 'ada', issuer: undefined, label: 'ada', role: 'admin' } as const
  const id = sessions.begin({ ...operator, provedAt: 0 }, undefined)
  now = 29 * MINUTE
  assert.notEqual(sessions.find(id, { isUsed: false }), undefined)
  now = 31 * MINUTE
  assert.equal(sessions.find(id, { isUsed: true }), undefined)
})
