import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ENDPOINTS, type Endpoint } from '@bonded/contract'
import { harness, SHOP_ORIGIN } from '../../../../../tests/harness/harness.ts'

const OTHER_ORIGIN = 'https://other.example'
const h = await harness()
after(() => h[Symbol.asyncDispose]())
await h.addTenant({ name: 'Other', origins: [OTHER_ORIGIN] })

test('allows the origins of all tenants in a preflight, and reveals nothing to other origins', async () => {
  const preflight = (origin: string, path = '/api/v1/sessions/x') =>
    h.call('OPTIONS', path, {
      headers: {
        origin,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'authorization,x-bond-watch',
      },
    })
  for (const origin of [SHOP_ORIGIN, OTHER_ORIGIN]) {
    const reply = await preflight(origin)
    assert.deepEqual([reply.status, reply.headers['access-control-allow-origin']], [204, origin])
    assert.match(String(reply.headers['access-control-allow-headers']), /X-Bond-Watch/)
    assert.equal(reply.headers.vary, 'Origin')
  }
  for (const origin of ['https://evil.example', 'null', `${SHOP_ORIGIN}.evil.example`]) {
    const reply = await preflight(origin)
    assert.deepEqual(
      [
        reply.status,
        reply.headers['access-control-allow-origin'],
        reply.headers['access-control-allow-headers'],
      ],
      [204, undefined, undefined],
    )
    assert.equal(reply.headers.vary, 'Origin', 'caches store the answer separately for each origin')
  }
})

test('allows cross-origin exactly the calls that the endpoint table opens to browsers', async () => {
  for (const { method, path, callers, headers } of Object.values(ENDPOINTS) as Endpoint[]) {
    const filledPath = path
      .replace('{session_id}', `sess_${'0'.repeat(22)}`)
      .replace('{device_id}', `dev_${'0'.repeat(22)}`)
    const reply = await h.call('OPTIONS', filledPath, {
      headers: { origin: SHOP_ORIGIN, 'access-control-request-method': method },
    })
    assert.equal(reply.status, 204)
    const { 'access-control-allow-methods': methods, 'access-control-allow-headers': allowed } =
      reply.headers
    // Methods share a path. Only those with a browser among their callers are allowed.
    const browsers = (Object.values(ENDPOINTS) as Endpoint[]).filter(
      (endpoint) => endpoint.path === path && endpoint.callers.includes('browser'),
    )
    if (browsers.length === 0) {
      assert.deepEqual([methods, allowed], [undefined, undefined], `${method} ${path}`)
      if (!callers.includes('anonymous'))
        assert.equal(reply.headers['access-control-allow-origin'], undefined, `${method} ${path}`)
      continue
    }
    assert.equal(methods, browsers.map((endpoint) => endpoint.method).join(', '), path)
    for (const name of headerNames(headers))
      assert.ok(String(allowed).toLowerCase().includes(name), `${path}: ${name}`)
    assert.doesNotMatch(String(allowed), /Idempotency|Completion/)
    // A page sends a body to these paths only.
    const hasBody = browsers.some(({ body }) => body !== undefined)
    assert.equal(String(allowed).includes('Content-Type'), hasBody, path)
  }
})

function headerNames(schema: object | undefined): readonly string[] {
  const { properties = {} }: { properties?: object } = { ...schema }
  return Object.keys(properties)
}

test('lets no page read responses of endpoints that browsers may not call', async () => {
  const session = await h.create()
  for (const [method, path] of [
    ['POST', '/sessions'],
    ['POST', '/attestations'],
    ['POST', `/sessions/${session.id}/form-completed`],
    ['POST', '/devices/challenges'],
    ['GET', `/sessions/${session.id}/timeline`],
  ] as const) {
    const { headers } = await h.api(method, path, { headers: { origin: SHOP_ORIGIN } })
    assert.equal(headers['access-control-allow-origin'], undefined, path)
    assert.equal(headers.vary, 'Origin', path)
  }
})
