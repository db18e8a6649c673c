import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import type { Service } from '../../../../core/src/operations/service.ts'
import { tenantWith } from '../../../../core/tests/records.ts'
import { serveAppLinks } from '../../../src/http/pages/app-links.ts'
import { serveLogos } from '../../../src/http/pages/logos.ts'
import { serveReceiptKeys } from '../../../src/http/pages/receipt-keys.ts'
import { serveRelatedOrigins } from '../../../src/http/pages/related-origins.ts'
import { bareApp } from './bare-app.ts'

const LOGO = `${'A'.repeat(22)}.png`
const withBrowser = [{ name: 'wire', actions: ['send'], require: ['browser'] }] as never
const TENANTS = [
  tenantWith({ origins: ['https://b.example', 'https://a.example'], workflows: withBrowser }),
  tenantWith({ origins: ['https://c.example'] }),
  tenantWith({ origins: ['https://a.example', 'https://0.example'], workflows: withBrowser }),
]

const apps: FastifyInstance[] = []
after(() => Promise.all(apps.map((app) => app.close())))

/** The pages of a service without limits, which counts how often it reads its tenants. */
function pagesOf(settings: object = {}, more: object = {}) {
  const seen = { reads: 0, now: 0, fails: false }
  const tables = {
    tenants: {
      list: () => TENANTS,
      findLogo: (name: string) => (name === LOGO ? Buffer.from('logo') : undefined),
    },
  }
  const service = {
    clock: { now: () => seen.now },
    store: {
      async read(unit: (given: typeof tables) => unknown) {
        seen.reads++
        if (seen.fails) throw new Error('down')
        return unit(tables)
      },
    },
    settings: { limits: 'off', appLinks: { apple: [], android: [] }, ...settings },
    ...more,
  } as unknown as Service
  const app = bareApp()
  apps.push(app)
  serveAppLinks(app, service)
  serveReceiptKeys(app, service)
  serveRelatedOrigins(app, service)
  serveLogos(app, service)
  const get = async (url: string) => {
    const { statusCode: status, headers, body } = await app.inject({ url })
    const { date: _date, connection: _c, 'content-length': _l, ...rest } = headers
    return { status, headers: rest, body }
  }
  return { get, seen }
}

test('the files of app stores name every app and the links that it opens', async () => {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'public, max-age=3600',
  }
  const appLinks = {
    apple: ['TEAM.a', 'TEAM.b'],
    android: [
      { packageName: 'a.b', certificateDigests: ['AB:CD', 'EF:01'] },
      { packageName: 'c.d', certificateDigests: ['23:45'] },
    ],
  }
  const { get } = pagesOf({ appLinks })
  const apple = await get('/.well-known/apple-app-site-association')
  assert.deepEqual([apple.status, apple.headers], [200, headers])
  assert.deepEqual(JSON.parse(apple.body), {
    applinks: {
      details: [
        {
          appIDs: ['TEAM.a', 'TEAM.b'],
          components: [{ '/': '/bond', '?': { session_id: '?*', nonce: '?*' } }],
        },
      ],
    },
    webcredentials: { apps: ['TEAM.a', 'TEAM.b'] },
  })
  const android = await get('/.well-known/assetlinks.json')
  assert.deepEqual([android.status, android.headers], [200, headers])
  const relation = [
    'delegate_permission/common.handle_all_urls',
    'delegate_permission/common.get_login_creds',
  ]
  const target = (package_name: string, sha256_cert_fingerprints: readonly string[]) => ({
    relation,
    target: { namespace: 'android_app', package_name, sha256_cert_fingerprints },
  })
  assert.deepEqual(JSON.parse(android.body), [
    target('a.b', ['AB:CD', 'EF:01']),
    target('c.d', ['23:45']),
  ])
  const one = pagesOf({ appLinks: { ...appLinks, android: [] } })
  assert.equal((await one.get('/.well-known/apple-app-site-association')).status, 200)
  assert.equal((await one.get('/.well-known/assetlinks.json')).status, 404)
})

test('the keys of receipts are a key set of all keys, and none without a signer', async () => {
  const publicKeys = [{ kid: 'new' }, { kid: 'old' }]
  const { get } = pagesOf({}, { receiptSigner: { publicKeys } })
  assert.deepEqual(await get('/.well-known/jwks.json'), {
    status: 200,
    headers: {
      'content-type': 'application/jwk-set+json',
      'cache-control': 'public, max-age=300',
    },
    body: JSON.stringify({ keys: publicKeys }),
  })
  assert.equal((await pagesOf().get('/.well-known/jwks.json')).status, 404)
})

test('related origins are those of tenants that need the browser, once and in order', async () => {
  const path = '/.well-known/webauthn'
  const { get, seen } = pagesOf({ relatedOrigins: true })
  assert.deepEqual(await get(path), {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
    body: '{"origins":["https://0.example","https://a.example","https://b.example"]}',
  })
  seen.now = 9_999
  await get(path)
  assert.equal(seen.reads, 1)
  seen.now = 10_000
  await get(path)
  assert.equal(seen.reads, 2)
  // A failure is not kept for those that come later.
  seen.now = 20_000
  seen.fails = true
  assert.equal((await get(path)).status, 500)
  seen.fails = false
  assert.equal((await get(path)).status, 200)
  const { get: off } = pagesOf({ relatedOrigins: false })
  assert.equal((await off(path)).status, 404)
})

test('a logo is a picture that never changes, by its whole name alone', async () => {
  const { get, seen } = pagesOf()
  assert.deepEqual(await get(`/v1/logos/${LOGO}`), {
    status: 200,
    headers: {
      'content-type': 'image/png',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': "default-src 'none'; sandbox",
    },
    body: 'logo',
  })
  assert.equal((await get(`/v1/logos/${'B'.repeat(22)}.png`)).status, 404)
  const { reads } = seen
  for (const name of ['A'.repeat(22), `${'A'.repeat(21)}.png`, `${'A'.repeat(23)}.png`, `${LOGO}x`])
    assert.equal((await get(`/v1/logos/${name}`)).status, 404, name)
  assert.equal(seen.reads, reads)
})
