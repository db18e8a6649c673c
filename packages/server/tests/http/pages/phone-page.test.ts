import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, test } from 'node:test'
import { drawQr } from '../../../src/http/pages/pages.ts'
import { harness } from '../../../../../tests/harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

test('serves the same document for every handoff link', async () => {
  const session = await h.create()
  const plain = await h.call('GET', '/bond')
  for (const query of [
    `?session_id=${session.id}&nonce=${session.nonce}`,
    `?session_id="><script>&nonce=${session.nonce}"x`,
    `?session_id=a&session_id=b`,
  ])
    assert.equal((await h.call('GET', `/bond${query}`)).text, plain.text, query)
})

test('changes no state when a handoff link is fetched', async () => {
  const session = await h.create()
  await h.call('GET', `/bond?session_id=${session.id}&nonce=${session.nonce}`)
  assert.deepEqual(
    [(await h.get(session)).body.state, (await h.get(session)).body.seq],
    ['pending', 1],
  )
})

for (const path of ['/bond', '/inbox'])
  test(`allows only its own script and style, and forbids framing: ${path}`, async () => {
    const { headers, text } = await h.call('GET', path)
    const policy = String(headers['content-security-policy'])
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
    const style = /<style>([\s\S]*)<\/style>/.exec(text)?.[1] ?? ''
    const styleHash = createHash('sha256').update(style).digest('base64')
    const start = /<script>([\s\S]*?)<\/script>/.exec(text)?.[1] ?? ''
    const startHash = createHash('sha256').update(start).digest('base64')
    assert.ok(policy.startsWith(`default-src 'none'; script-src 'self' 'sha256-${startHash}'; `))
    assert.ok(policy.includes(`style-src 'sha256-${styleHash}'`))
    assert.match(policy, /frame-ancestors 'none'/)
    const end =
      path === '/bond'
        ? "trusted-types 'none'"
        : 'trusted-types inbox-worker; worker-src https://bond.example/inbox/worker.js'
    assert.ok(policy.endsWith(`; require-trusted-types-for 'script'; ${end}`))
    assert.doesNotMatch(policy, /unsafe|\*/)
  })

for (const path of ['/bond', '/inbox'])
  test(`asks translators to leave the page and its title alone: ${path}`, async () => {
    const { text } = await h.call('GET', path)
    assert.ok(text.includes('<meta name="google" content="notranslate">'))
    assert.ok(text.includes('<title translate="no">'))
  })

test('serves the service worker of the inbox for its page alone, and permits it no request', async () => {
  const { status, headers } = await h.call('GET', '/inbox/worker.js')
  assert.equal(status, 200)
  assert.equal(headers['content-type'], 'text/javascript; charset=utf-8')
  assert.equal(headers['content-security-policy'], "default-src 'none'")
  assert.equal(headers['service-worker-allowed'], '/inbox')
  assert.equal(headers['cache-control'], 'no-cache')
})

for (const path of ['/bond', '/inbox'])
  test(`loads the words of the first language that the browser accepts, and of no other: ${path}`, async () => {
    for (const [accepted, lang] of [
      ['de-AT,en;q=0.8', 'de'],
      ['sw, pt-BR;q=0.9', 'pt'],
      ['zh-TW,zh;q=0.9,en;q=0.8', 'zh-Hans'],
      ['en-US', 'en'],
      ['*', 'en'],
      ['sw,sw,sw,de', 'en'],
      ['"><script>', 'en'],
    ] as const) {
      const headers = { 'accept-language': accepted }
      const { text } = await h.call('GET', path, { headers })
      assert.ok(text.startsWith(`<!doctype html>\n<html lang="${lang}" dir="ltr">`), accepted)
      const preloads = [...text.matchAll(/<link rel="preload"[^>]* href="([^"]+)"/g)]
      assert.equal(preloads.length, lang === 'en' ? 0 : 1, accepted)
      for (const [, href = ''] of preloads) {
        assert.ok(href.endsWith(path === '/bond' ? `/${lang}.json` : `/inbox-${lang}.json`))
        assert.equal((await h.call('GET', href)).status, 200)
      }
    }
  })

for (const path of ['/bond', '/inbox'])
  test(`serves only the pinned script, cacheable for a year: ${path}`, async () => {
    const { text } = await h.call('GET', path)
    const [, address = '', integrity = ''] =
      /<script defer src="([^"]+)" integrity="([^"]+)"/.exec(text) ?? []
    assert.ok(address.startsWith(path))
    const script = await h.call('GET', address)
    assert.equal(script.status, 200)
    assert.match(String(script.headers['cache-control']), /immutable/)
    const digest = createHash('sha384').update(script.text).digest('base64')
    assert.equal(integrity, `sha384-${digest}`)
    assert.equal((await h.call('GET', `${path}/page-0000000000000000.js`)).status, 404)
  })

test('serves the page, its script and its languages compressed, and not again to who has them', async () => {
  const { text } = await h.call('GET', '/bond')
  const [path = ''] = /\/bond\/page-\w+\.js/.exec(text) ?? []
  const script = (await h.call('GET', path)).text
  const [words = ''] = /\/bond\/words-\w+/.exec(script) ?? []
  for (const file of ['/bond', path, `${words}/de.json`]) {
    const plain = await h.call('GET', file)
    const { etag } = plain.headers
    for (const encoding of ['br', 'gzip']) {
      const { headers } = await fetch(`http://127.0.0.1:${h.running.port}${file}`, {
        headers: { 'accept-encoding': encoding },
      })
      assert.equal(headers.get('content-encoding'), encoding, file)
      assert.equal(headers.get('etag'), etag, file)
      const isDocument = file === '/bond'
      assert.equal(headers.get('vary'), `Accept-Encoding${isDocument ? ', Accept-Language' : ''}`)
      const bytes = Number(headers.get('content-length'))
      assert.ok(bytes < Number(plain.headers['content-length']) / 2, `${file}: ${bytes} B`)
    }
    const again = await h.call('GET', file, { headers: { 'if-none-match': String(etag) } })
    assert.deepEqual([again.status, again.text], [304, ''], file)
    assert.equal(
      again.headers['content-security-policy'],
      plain.headers['content-security-policy'],
      file,
    )
  }
})

test('responds with 404 for the app associations when no app is configured', async () => {
  for (const path of ['apple-app-site-association', 'assetlinks.json'])
    assert.equal((await h.call('GET', `/.well-known/${path}`)).status, 404, path)
})

test('lists the configured apps for Apple and Google', async () => {
  await using own = await harness({
    appLinks: {
      apple: ['A1B2C3D4E5.example.bank'],
      android: [{ packageName: 'example.bank', certificateDigests: ['E3:B0'] }],
    },
  })
  const apple = await own.call('GET', '/.well-known/apple-app-site-association')
  assert.match(String(apple.headers['content-type']), /^application\/json/)
  assert.deepEqual(apple.body.applinks.details[0].appIDs, ['A1B2C3D4E5.example.bank'])
  assert.equal(apple.body.applinks.details[0].components[0]['/'], '/bond')
  const google = await own.call('GET', '/.well-known/assetlinks.json')
  assert.deepEqual(google.body[0].target, {
    namespace: 'android_app',
    package_name: 'example.bank',
    sha256_cert_fingerprints: ['E3:B0'],
  })
  assert.match(
    (await own.call('GET', '/bond')).text,
    /<meta name="bonded-app-scheme" content="pulse">/,
  )
})

test('encodes the universal link in the QR code where the operator chose it', async () => {
  await using own = await harness({ qrContent: 'universal_link' })
  const session = await own.create()
  assert.equal(session.qr_content, 'universal_link')
  const image = await own.call('GET', session.qr_svg_url)
  assert.equal(image.text, drawQr(session.universal_link))
  assert.match(session.qr_payload, /^pulse:\/\/bond\?/)
})
