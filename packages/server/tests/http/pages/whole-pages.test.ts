import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import type { Service } from '../../../../core/src/operations/service.ts'
import { tenantWith } from '../../../../core/tests/records.ts'
import { serveBrowserFrame } from '../../../src/http/pages/browser-frame.ts'
import { serveHomePage } from '../../../src/http/pages/home-page.ts'
import { serveHostedScript } from '../../../src/http/pages/hosted-script.ts'
import { type PhonePageFiles, servePhonePage } from '../../../src/http/pages/phone-page.ts'
import { serveWebhookPortal } from '../../../src/http/pages/webhook-portal.ts'
import { bareApp } from './bare-app.ts'

const YEAR = 'public, max-age=31536000, immutable'
const WORDS = (tag: string) => ({
  tooOldTitle: `${tag} too old`,
  tooOldBody: `${tag} too old body`,
  unloadedTitle: `${tag} unloaded`,
  unloadedBody: `${tag} unloaded body`,
  retry: `${tag} retry`,
})
const filesOf = (name: string) => ({
  script: `/* ${name} script */`,
  scriptIntegrity: `sha384-${name}`,
  scriptHash: `${name}hash`,
  style: `${name}{}`,
  styleHash: `sha256-${name}-style`,
})
const FILES: PhonePageFiles = {
  ...filesOf('bond'),
  languages: new Map([
    ['de', '{"de":1}'],
    ['ar', '{"ar":1}'],
    ['inbox-de', '{"inbox":1}'],
  ]),
  languagesHash: 'wordshash',
  start: 'start()',
  startHash: 'sha256-start',
  documentWords: new Map([
    ['en', WORDS('en')],
    ['de', WORDS('de')],
    ['ar', WORDS('ar')],
  ]),
  frame: filesOf('frame'),
  portal: filesOf('portal'),
  inbox: filesOf('inbox'),
  serviceWorker: '/* worker */',
}

const browserWorkflow = { name: 'wire', actions: ['send'], require: ['browser'] }
const FRAMED = tenantWith({
  origins: ['https://b.example', 'https://a.example'],
  workflows: [browserWorkflow as never],
})
/** A service of which the pages need little: no limits, and a tenant. */
function serviceWith(settings: object = {}): Service {
  const tables = {
    tenants: {
      find: () => FRAMED,
    },
  }
  return {
    store: { read: async (unit: (given: typeof tables) => unknown) => unit(tables) },
    settings: {
      limits: 'off',
      publicOrigin: 'https://id.example',
      appScheme: 'pulse',
      appLinks: { apple: [], android: [] },
      ...settings,
    },
  } as unknown as Service
}

const apps: FastifyInstance[] = []
after(() => Promise.all(apps.map((app) => app.close())))
function pagesOf(service: Service): FastifyInstance {
  const app = bareApp()
  apps.push(app)
  const load = async () => FILES
  servePhonePage(app, { service, load })
  serveBrowserFrame(app, { service, load: async () => FILES.frame })
  serveWebhookPortal(app, { service, load: async () => FILES.portal })
  serveHomePage(app, service)
  serveHostedScript(app, service, {
    version: '9.8.7',
    load: async () => ({
      source: '/* pulse */',
      integrity: 'sha384-pulse',
      sourceMap: '{"map":1}',
      files: [
        { path: '/v1/leg/leg-1.js', source: '/* leg */', integrity: 'sha384-leg' },
        { path: '/v1/style/s.css', source: 'a{}', integrity: 'sha384-css' },
        { path: '/v1/lang/abc/de.json', source: '{"l":1}', integrity: 'sha384-lang' },
        { path: '/v1/checks/c.js', source: '/* checks */', integrity: 'sha384-checks' },
      ],
    }),
  })
  return app
}

const pages = pagesOf(serviceWith())
async function get(url: string, headers: Record<string, string> = {}, app = pages) {
  const { statusCode: status, headers: got, body, rawPayload } = await app.inject({ url, headers })
  const { date: _date, connection: _c, 'content-length': _l, etag, ...rest } = got
  return { status, headers: rest, body, etag, bytes: rawPayload }
}

const documentOf = (tag: string, dir: string, name: string, more = '', scheme = '') => {
  const [path, prefix] = name === 'bond' ? ['/bond', ''] : ['/inbox', 'inbox-']
  const words =
    tag === 'en' || more === 'none'
      ? ''
      : `<link rel="preload" as="fetch" href="/bond/words-wordshash/${prefix}${tag}.json" crossorigin="anonymous">\n`
  return `<!doctype html>
<html lang="${tag}" dir="${dir}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<meta name="robots" content="noindex">
<meta name="google" content="notranslate">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#ffffff" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#12181f" media="(prefers-color-scheme: dark)">
${scheme}<title translate="no">Approve on your phone</title>
${words}<style>${name}{}</style>
<script defer src="${path}/page-${name}hash.js" integrity="sha384-${name}" crossorigin="anonymous"></script>
</head>
<body><main><article class="unloaded"><h1>${tag} unloaded</h1><p>${tag} unloaded body</p><noscript><p lang="en" dir="ltr">This page needs JavaScript. Turn it on for this site.</p></noscript><a class="button" href="">${tag} retry</a></article><article hidden data-screen="too_old"><h1>${tag} too old</h1><p>${tag} too old body</p></article></main><script>start()</script></body>
</html>
`
}

for (const name of ['bond', 'inbox']) {
  test(`the document /${name} is in the language of the phone, with its policies`, async () => {
    const end = {
      bond: "trusted-types 'none'",
      inbox: 'trusted-types inbox-worker; worker-src https://id.example/inbox/worker.js',
    }[name]
    for (const [accepted, tag, dir] of [
      [undefined, 'en', 'ltr'],
      ['fr, de;q=0.5, en', 'de', 'ltr'],
      ['ar-EG', 'ar', 'rtl'],
      ['xx', 'en', 'ltr'],
    ] as const) {
      const { status, headers, body } = await get(
        `/${name}`,
        accepted === undefined ? {} : { 'accept-language': accepted },
      )
      const preload = name === 'inbox' && tag === 'ar' ? 'none' : ''
      assert.equal(body, documentOf(tag, dir, name, name === 'inbox' ? '' : preload), accepted)
      assert.equal(status, 200)
      assert.deepEqual(headers, {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        vary: 'Accept-Encoding, Accept-Language',
        'cross-origin-opener-policy': 'same-origin',
        'permissions-policy':
          'accelerometer=(self), gyroscope=(self), publickey-credentials-create=(self), publickey-credentials-get=(self), camera=(), geolocation=(), microphone=()',
        'content-security-policy': `default-src 'none'; script-src 'self' 'sha256-start'; style-src 'sha256-${name}-style'; connect-src 'self' wss://id.example; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; ${end}`,
      })
    }
  })
}

test('the document tells its page the scheme of an app only where there is one', async () => {
  const scheme = '<meta name="bonded-app-scheme" content="pulse">'
  for (const appLinks of [
    { apple: ['T.a.b'], android: [] },
    { apple: [], android: [{ packageName: 'a.b', certificateDigests: [] }] },
  ]) {
    const app = pagesOf(serviceWith({ appLinks }))
    assert.equal((await get('/bond', {}, app)).body, documentOf('en', 'ltr', 'bond', '', scheme))
  }
})

const FRAME_HEAD = (title: string, name: string, path: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="google" content="notranslate">
<meta name="color-scheme" content="light dark">
<title translate="no">${title}</title>
<style>${name}{}</style>
<script defer src="${path}/script/${name}hash.js" integrity="sha384-${name}" crossorigin="anonymous"></script>
</head>
`
const FRAME_POLICY = (name: string) =>
  `default-src 'none'; script-src 'self'; style-src 'sha256-${name}-style'; connect-src 'self'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'; frame-ancestors https://b.example https://a.example`

test('the frame and the portal of a tenant are framed by its origins alone', async () => {
  const common = {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    vary: 'Accept-Encoding',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-embedder-policy': 'require-corp',
  }
  const frame = await get(`/frame/${FRAMED.id}`)
  assert.deepEqual(frame.headers, {
    ...common,
    'permissions-policy': 'publickey-credentials-get=(self)',
    'content-security-policy': FRAME_POLICY('frame'),
  })
  assert.equal(
    frame.body,
    `${FRAME_HEAD('Confirm in this browser', 'frame', '/frame')}<body><main></main></body>\n</html>\n`,
  )
  const portal = await get(`/webhooks/${FRAMED.id}`)
  assert.deepEqual(portal.headers, {
    ...common,
    'content-security-policy': FRAME_POLICY('portal'),
  })
  assert.equal(
    portal.body,
    `${FRAME_HEAD('Webhook deliveries', 'portal', '/webhooks')}<body><main><p class="unloaded">This page has not loaded yet. Check your connection, then load it again.</p></main></body>\n</html>\n`,
  )
  assert.equal((await get('/frame/ten_x')).status, 404)
})

test('each script, style and word is served as what it is, and kept for as long as it lasts', async () => {
  const JS = 'text/javascript; charset=utf-8'
  const JSON_TYPE = 'application/json; charset=utf-8'
  const files = {
    '/v1/pulse-9.8.7.js': 'sha384-pulse',
    '/v1/leg/leg-1.js': 'sha384-leg',
    '/v1/style/s.css': 'sha384-css',
    '/v1/lang/abc/de.json': 'sha384-lang',
    '/v1/checks/c.js': 'sha384-checks',
  }
  const any = { 'access-control-allow-origin': '*' }
  const map = { ...any, sourcemap: '/v1/pulse-9.8.7.js.map' }
  const short = 'public, max-age=300'
  const worker = {
    'content-security-policy': "default-src 'none'",
    'service-worker-allowed': '/inbox',
  }
  for (const [path, body, type, cache, more] of [
    ['/v1/pulse.js', '/* pulse */', JS, short, map],
    ['/v1/pulse-9.8.7.js', '/* pulse */', JS, YEAR, map],
    ['/v1/pulse-9.8.7.js.map', '{"map":1}', JSON_TYPE, YEAR, any],
    ['/v1/integrity.json', JSON.stringify({ version: '9.8.7', files }), JSON_TYPE, short, any],
    ['/v1/leg/leg-1.js', '/* leg */', JS, YEAR, any],
    ['/v1/checks/c.js', '/* checks */', JS, YEAR, any],
    ['/v1/style/s.css', 'a{}', 'text/css; charset=utf-8', YEAR, any],
    ['/v1/lang/abc/de.json', '{"l":1}', JSON_TYPE, YEAR, any],
    ['/bond/page-bondhash.js', '/* bond script */', JS, YEAR, {}],
    ['/inbox/page-inboxhash.js', '/* inbox script */', JS, YEAR, {}],
    ['/bond/words-wordshash/de.json', '{"de":1}', JSON_TYPE, YEAR, {}],
    ['/bond/words-wordshash/inbox-de.json', '{"inbox":1}', JSON_TYPE, YEAR, {}],
    ['/frame/script/framehash.js', '/* frame script */', JS, YEAR, {}],
    ['/webhooks/script/portalhash.js', '/* portal script */', JS, YEAR, {}],
    ['/inbox/worker.js', '/* worker */', JS, 'no-cache', worker],
  ] as const) {
    const found = await get(path)
    assert.deepEqual([found.status, found.body], [200, body], path)
    assert.deepEqual(
      found.headers,
      { 'content-type': type, 'cache-control': cache, vary: 'Accept-Encoding', ...more },
      path,
    )
  }
  for (const path of [
    '/bond/page-inboxhash.js',
    '/bond/words-otherhash/de.json',
    '/bond/words-wordshash/fr.json',
    '/frame/script/portalhash.js',
    '/v1/leg/leg-2.js',
  ])
    assert.equal((await get(path)).status, 404, path)
})

test('a file is sent in the best encoding that the client takes, and only if it has not got it', async () => {
  const path = '/v1/pulse.js'
  for (const [accepted, encoding] of [
    ['gzip, br', 'br'],
    ['GZIP', 'gzip'],
    ['br;q=0, gzip;q=0.1', 'gzip'],
    ['br;q=0.0', undefined],
    ['deflate', undefined],
    ['', undefined],
  ] as const) {
    const { headers, bytes } = await get(path, { 'accept-encoding': accepted })
    assert.equal(headers['content-encoding'], encoding, accepted)
    const plain =
      encoding === 'br'
        ? brotliDecompressSync(bytes)
        : encoding === 'gzip'
          ? gunzipSync(bytes)
          : bytes
    assert.equal(String(plain), '/* pulse */')
  }
  const { etag } = await get(path)
  assert.match(String(etag), /^W\/"[\w-]{22}"$/)
  const bare = String(etag).slice(2)
  for (const [known, status] of [
    [String(etag), 304],
    [bare, 304],
    [`"x", ${etag}`, 304],
    ['*', 304],
    ['"x"', 200],
    [bare.slice(1, -1), 200],
  ] as const) {
    const found = await get(path, { 'if-none-match': known })
    assert.deepEqual([found.status, found.etag], [status, etag], known)
    if (status === 304) assert.equal(found.body, '')
  }
})

test('the root says what the service is, to users, to its operators, and with its icon', async () => {
  const { headers, body } = await get('/')
  assert.equal(headers['cache-control'], 'no-cache')
  assert.match(
    String(headers['content-security-policy']),
    /^default-src 'none'; style-src 'sha256-[\w+/]{43}='; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
  )
  const [head = '', main = ''] = body.replace(/<style>[^<]*<\/style>/, '<style/>').split('<body>')
  assert.equal(
    head,
    `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>Bonded Sessions</title>
<link rel="icon" type="image/svg+xml" href="/favicon.ico">
<style/>
</head>
`,
  )
  assert.equal(
    main,
    `<main>
<img src="/favicon.ico" alt="">
<h1>Bonded Sessions</h1>
<p class="lead">With this service, organizations ask you to approve an important action on your phone before they carry it out.</p>
<h2>If an organization sent you here</h2>
<p>Return to its page and scan the QR code with your phone. Nothing is approved unless you approve it there.</p>
<h2>If you have approved with this phone</h2>
<p><a href="/bond">Your phones</a> lists the phones that approve as you, and removes them.</p>
<h2>If you operate this service</h2>
<p>It is running. <a href="/health/ready">/health/ready</a> says whether it accepts requests, and <code>bonded doctor</code> checks it from outside.</p>
</main></body>
</html>
`,
  )
  const icon = await get('/favicon.ico')
  assert.deepEqual(icon.headers, {
    'content-type': 'image/svg+xml',
    'cache-control': 'public, max-age=86400',
    'content-security-policy': "default-src 'none'; sandbox",
  })
  assert.match(icon.body, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox="0 0 48 48">/)
})
