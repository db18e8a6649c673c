import assert from 'node:assert/strict'
import { get } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { harness } from '../../../../../tests/harness/harness.ts'

const SCRIPT = 'globalThis.pulse = "script";'.repeat(200)
const LANGUAGE = { path: '/v1/lang/0123456789abcdef/de.json', integrity: 'sha384-de' }
const STYLE = { path: '/v1/style/0123456789abcdef.css', integrity: 'sha384-css' }
const h = await harness({
  hosting: {
    port: 0,
    script: {
      version: '1.2.3',
      load: async () => ({
        source: SCRIPT,
        integrity: 'sha384-script',
        sourceMap: '{"version":3}',
        files: [
          { ...STYLE, source: '.card{color:red}' },
          { ...LANGUAGE, source: '{"label":"ä"}' },
        ],
      }),
    },
  },
})
after(() => h[Symbol.asyncDispose]())

/** The exact bytes of a response: no header is added and no coding is undone. */
async function read(path: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>(
    (resolve, reject) => {
      get(`http://127.0.0.1:${h.running.port}${path}`, { headers }, (response) => {
        const { statusCode: status = 0, headers } = response
        buffer(response).then((body) => resolve({ status, headers, body }), reject)
      }).on('error', reject)
    },
  )
}

test('serves the current script for five minutes and the pinned one for a year', async () => {
  const current = await read('/v1/pulse.js')
  assert.equal(current.status, 200)
  assert.equal(current.headers['content-type'], 'text/javascript; charset=utf-8')
  assert.equal(current.headers['cache-control'], 'public, max-age=300')
  assert.equal(current.headers['access-control-allow-origin'], '*')
  assert.equal(current.headers['sourcemap'], '/v1/pulse-1.2.3.js.map')
  assert.equal(current.body.toString(), SCRIPT)
  const pinned = await read('/v1/pulse-1.2.3.js')
  assert.equal(pinned.headers['cache-control'], 'public, max-age=31536000, immutable')
  assert.deepEqual(pinned.body, current.body)
  assert.equal((await read('/v1/pulse-1.2.4.js')).status, 404)
})

test('compresses as the client accepts', async () => {
  for (const [accepted, encoding] of [
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip;q=0.5', 'gzip'],
    ['br;q=0, GZIP', 'gzip'],
    ['br;q=0.0', undefined],
    ['deflate', undefined],
  ] as const) {
    const { headers, body } = await read('/v1/pulse.js', { 'accept-encoding': accepted })
    assert.equal(headers['content-encoding'], encoding, accepted)
    assert.equal(headers['vary'], 'Accept-Encoding')
    assert.equal(Number(headers['content-length']), body.length)
    const plain =
      encoding === 'br' ? brotliDecompressSync(body) : encoding ? gunzipSync(body) : body
    assert.equal(plain.toString(), SCRIPT)
  }
})

test('responds with 304 without a body when the client has the file', async () => {
  const { headers } = await read('/v1/pulse.js')
  const etag = String(headers['etag'])
  assert.match(etag, /^W\/"[\w-]{22}"$/)
  for (const known of [etag, etag.slice(2), `"other", ${etag}`, '*']) {
    const again = await read('/v1/pulse.js', { 'if-none-match': known, 'accept-encoding': 'br' })
    assert.deepEqual([again.status, again.body.length], [304, 0], known)
    assert.equal(again.headers['etag'], etag)
    assert.equal(again.headers['cache-control'], 'public, max-age=300')
  }
  assert.equal((await read('/v1/pulse.js', { 'if-none-match': '"other"' })).status, 200)
})

test('lists the integrity of every file that never changes', async () => {
  const { headers, body } = await read('/v1/integrity.json')
  assert.equal(headers['content-type'], 'application/json; charset=utf-8')
  assert.equal(headers['access-control-allow-origin'], '*')
  assert.deepEqual(JSON.parse(body.toString()), {
    version: '1.2.3',
    files: {
      '/v1/pulse-1.2.3.js': 'sha384-script',
      [STYLE.path]: 'sha384-css',
      [LANGUAGE.path]: 'sha384-de',
    },
  })
})

test('serves the source map, the styles and the languages, which never change', async () => {
  for (const [path, type, text] of [
    ['/v1/pulse-1.2.3.js.map', 'application/json', '{"version":3}'],
    [STYLE.path, 'text/css', '.card{color:red}'],
    [LANGUAGE.path, 'application/json', '{"label":"ä"}'],
  ] as const) {
    const { headers, body } = await read(path)
    assert.equal(headers['content-type'], `${type}; charset=utf-8`)
    assert.equal(body.toString(), text)
    assert.match(String(headers['cache-control']), /immutable/)
    assert.equal(headers['access-control-allow-origin'], '*')
  }
})

test('responds with 404 for a language or a version that it does not have', async () => {
  for (const path of [
    '/v1/lang/0123456789abcdef/fr.json',
    '/v1/lang/0000000000000000/de.json',
    '/v1/style/0000000000000000.css',
    '/v1/lang/0123456789abcdef/..%2F..%2Fpulse.js',
  ]) {
    const { status, body, headers } = await read(path)
    assert.equal(status, 404, path)
    assert.equal(headers['cache-control'], 'no-store')
    assert.equal(JSON.parse(body.toString()).error.reason, 'page_not_found')
  }
})

test('rejects other methods and names the allowed one', async () => {
  for (const path of ['/v1/pulse.js', '/v1/integrity.json', LANGUAGE.path]) {
    const { status, headers } = await h.call('POST', path)
    assert.deepEqual([status, headers['allow']], [405, 'GET, HEAD'], path)
  }
})
