import assert from 'node:assert/strict'
import { get } from 'node:http'
import { test } from 'node:test'
import { fc } from '../../../tests/random.ts'
import { parseLoanForm } from '../src/loan-form.ts'
import { FORM, openHarness } from './harness.ts'

const POSTS = ['/drafts', '/bond-session', '/applications']

test('serves the page with a strict policy, an HttpOnly login and the reserved container', async () => {
  await using h = await openHarness()
  const { page } = await h.openBrowser()
  const socket = h.service.origin.replace('http', 'ws')
  assert.equal(
    page.headers.get('content-security-policy'),
    `default-src 'none'; script-src 'self' ${h.service.origin}; connect-src 'self' ${h.service.origin} ${socket}; img-src ${h.service.origin} data:; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  )
  assert.match(
    page.headers.get('set-cookie') ?? '',
    /^bank_login=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/,
  )
  const html = await page.text()
  assert.match(html, /<div id="bond-container" data-pulse-widget>/)
  assert.doesNotMatch(html, /style=|sk_beta_|<script>/)
})

test('escapes the submitted values when the page is opened again', async () => {
  await using h = await openHarness()
  const browser = await h.openBrowser()
  await browser.post('/drafts', { ...FORM, name: `Eve O'"<b>` })
  await browser.post('/drafts', { ...FORM, name: "Eve O'Neil" })
  const html = await (await fetch(h.bank.url, { headers: { cookie: browser.cookie } })).text()
  assert.ok(html.includes('value="Eve O&#39;Neil"'))
})

/** The status of a request with this Host header, which `fetch` does not let a test choose. */
async function statusFor(url: string, host: string, path = '/'): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  const { port } = new URL(url)
  const options = { host: '127.0.0.1', port, path, headers: { host }, agent: false }
  get(options, (response) => response.resume().on('end', () => resolve(response.statusCode))).on(
    'error',
    reject,
  )
  return promise
}

test('responds only to its own host names, so that no site rebinds its name to the bank', async () => {
  await using h = await openHarness()
  const { port } = new URL(h.bank.url)
  for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, 'LOCALHOST'])
    assert.equal(await statusFor(h.bank.url, host), 200, host)
  for (const host of [
    `evil.example:${port}`,
    'localhost.evil.example',
    'evil.example',
    `localhost@evil.example:${port}`,
    `127.0.0.1.evil.example:${port}`,
    'localhost:x',
    '0.0.0.0',
  ])
    for (const path of ['/', '/page.js', '/bond-session', '/nothing'])
      assert.equal(await statusFor(h.bank.url, host, path), 421, `${host} ${path}`)
})

test('names every invalid field with a sentence', async () => {
  const parsed = parseLoanForm({
    name: '‮evil',
    amount: '12.5',
    purpose: 'constructor',
    term: '37',
    income: '-1',
  })
  assert.ok('errors' in parsed)
  assert.deepEqual(Object.keys(parsed.errors), ['name', 'amount', 'purpose', 'term', 'income'])
})

const junk: [string, number, RequestInit][] = [
  [
    'a body over 16 KiB',
    413,
    {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'x'.repeat(20_000) }),
    },
  ],
  [
    'a body far over it',
    413,
    { headers: { 'content-type': 'application/json' }, body: 'x'.repeat(3_000_000) },
  ],
  [
    'a body that is not JSON',
    400,
    { headers: { 'content-type': 'application/json' }, body: '{"name":' },
  ],
  [
    'a body that is not an object',
    400,
    { headers: { 'content-type': 'application/json' }, body: '[]' },
  ],
  ['an empty body', 400, { headers: { 'content-type': 'application/json' } }],
  [
    'invalid UTF-8',
    400,
    {
      headers: { 'content-type': 'application/json' },
      body: Buffer.from('{"name":"\xff"}', 'latin1'),
    },
  ],
  ['another content type', 415, { headers: { 'content-type': 'text/plain' }, body: '{}' }],
  [
    'another site’s origin',
    403,
    { headers: { 'content-type': 'application/json', origin: 'https://evil.test' }, body: '{}' },
  ],
  [
    'an opaque origin',
    403,
    { headers: { 'content-type': 'application/json', origin: 'null' }, body: '{}' },
  ],
  [
    'no login',
    401,
    { headers: { 'content-type': 'application/json', cookie: 'bank_login=x' }, body: '{}' },
  ],
]

for (const [name, status, init] of junk) {
  test(`responds with ${status} to ${name} on every form route`, async () => {
    await using h = await openHarness()
    const { cookie } = await h.openBrowser()
    for (const path of POSTS) {
      const response = await fetch(h.bank.url + path, {
        method: 'POST',
        ...init,
        headers: { cookie, ...(init.headers as Record<string, string>) },
      })
      assert.equal(response.status, status)
      const { error } = (await response.json()) as { error: { message: string } }
      assert.match(error.message, /\.$/)
    }
  })
}

test('responds with 404 to unknown paths and with 405 to unknown methods', async () => {
  await using h = await openHarness()
  const get = (path: string, method = 'GET') => fetch(h.bank.url + path, { method })
  assert.equal((await get('/../package.json')).status, 404)
  assert.equal((await get('/constructor')).status, 404)
  const wrong = await get('/applications')
  assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'POST'])
  assert.equal((await get('/', 'DELETE')).status, 405)
  assert.equal((await get('/page.css', 'HEAD')).status, 200)
})

test('rejects junk in a form without a server error and without an application', async () => {
  await using h = await openHarness()
  const browser = await h.openBrowser()
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('/drafts', '/applications'),
      fc.dictionary(
        fc.constantFrom(...Object.keys(FORM), 'session_id', '__proto__', 'x'),
        fc.jsonValue(),
      ),
      async (path, body) => {
        const { status } = await browser.post(path, body)
        assert.ok(status >= 400 && status < 500)
      },
    ),
    { numRuns: 200 },
  )
  assert.equal(h.bank.applications().length, 0)
})
