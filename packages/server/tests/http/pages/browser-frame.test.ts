import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseLimits, USUAL_LIMITS } from '../../../../core/src/domain/limits.ts'
import { type Harness, harness } from '../../../../../tests/harness/harness.ts'

const BOUND = { name: 'bound', actions: ['act'], require: ['browser' as const] }
const ORIGINS = ['https://a.example', 'https://b.example:8443']
const get = (h: Harness, path: string, headers: Record<string, string> = {}) =>
  fetch(`http://127.0.0.1:${h.running.port}${path}`, { headers })

test('serves the frame of a tenant, which only its own origins may frame', async () => {
  await using h = await harness()
  const { tenant } = await h.addTenant({ workflows: [BOUND], origins: ORIGINS })
  const response = await get(h, `/frame/${tenant.id}`)
  assert.equal(response.status, 200)
  const policy = response.headers.get('content-security-policy') ?? ''
  assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'sha256-[^']+';/)
  assert.match(policy, /; frame-ancestors https:\/\/a\.example https:\/\/b\.example:8443$/)
  assert.equal(response.headers.get('x-frame-options'), null)
  assert.equal(response.headers.get('cross-origin-opener-policy'), 'same-origin')
  assert.equal(response.headers.get('cross-origin-embedder-policy'), 'require-corp')
  assert.equal(response.headers.get('cross-origin-resource-policy'), 'cross-origin')
  assert.equal(response.headers.get('permissions-policy'), 'publickey-credentials-get=(self)')
  assert.equal(response.headers.get('cache-control'), 'no-cache')
  const html = await response.text()
  assert.doesNotMatch(html, new RegExp(`${tenant.id}|${tenant.name}`))
  assert.ok(html.includes('<meta name="google" content="notranslate">'))
  const script = await get(h, /src="([^"]+)"/.exec(html)?.[1] ?? '')
  assert.match(script.headers.get('content-type') ?? '', /^text\/javascript/)
  assert.match(script.headers.get('cache-control') ?? '', /immutable/)
})

test('a browser that has the document gets its current framing rule', async () => {
  await using h = await harness()
  const { tenant } = await h.addTenant({ workflows: [BOUND], origins: ORIGINS })
  const etag = (await get(h, `/frame/${tenant.id}`)).headers.get('etag') ?? ''
  const again = await get(h, `/frame/${tenant.id}`, { 'if-none-match': etag })
  assert.equal(again.status, 304)
  assert.match(again.headers.get('content-security-policy') ?? '', /frame-ancestors https:\/\/a\./)
})

test('a tenant without origins can be framed by no page', async () => {
  await using h = await harness()
  const { tenant } = await h.addTenant({ workflows: [BOUND], origins: [] })
  const policy = (await get(h, `/frame/${tenant.id}`)).headers.get('content-security-policy')
  assert.match(policy ?? '', /frame-ancestors 'none'$/)
})

test('responds alike for an unknown tenant and one that does not require the browser', async () => {
  await using h = await harness()
  const { tenant } = await h.addTenant({
    workflows: [{ name: 'free', actions: ['act'] }],
    origins: ORIGINS,
  })
  for (const id of [tenant.id, 'ten_0000000000000000000000', 'ten_', 'x', '%00', '..%2Fbond']) {
    const response = await get(h, `/frame/${id}`)
    assert.equal(response.status, 404, id)
    assert.match(await response.text(), /"reason":"page_not_found"/)
    assert.match(response.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/)
  }
})

test('a query changes nothing in the frame, and no other spelling of its path has one', async () => {
  await using h = await harness()
  const { tenant } = await h.addTenant({ workflows: [BOUND], origins: ORIGINS })
  const path = `/frame/${tenant.id}`
  const read = async (at: string) => {
    const response = await get(h, at)
    const policy = response.headers.get('content-security-policy')
    return [response.status, policy, response.headers.get('location'), await response.text()]
  }
  const served = await read(path)
  for (const query of [
    '?frame-ancestors=*',
    '?parent_origin=https://evil.example&tenant_id=ten_0000000000000000000000',
    '?%0d%0acontent-security-policy:%20x',
    '?<script>',
    `?${'x'.repeat(4_000)}`,
  ])
    assert.deepEqual(await read(path + query), served, query)
  for (const other of [
    `${path}/`,
    `/frame//${tenant.id}`,
    `//frame/${tenant.id}`,
    `/Frame/${tenant.id}`,
    `/frame/${tenant.id.toUpperCase()}`,
    `${path}%20`,
    `${path}%0d%0ax:%20y`,
    `${path};x`,
    `${path}%2f..%2f${tenant.id}`,
    `/frame/${tenant.id},${tenant.id}`,
    '/frame/__proto__',
    '/frame/constructor',
    '/frame/script/',
    '/frame/script/__proto__.js',
  ]) {
    const [status, policy, location] = await read(other)
    assert.deepEqual([status, location], [404, null], other)
    assert.match(String(policy), /frame-ancestors 'none'/, other)
  }
})

test('a frame and its script are limited by network, before the service reads a tenant', async (t) => {
  await using h = await harness({ limits: { ...USUAL_LIMITS, ...parseLimits('public=60/2') } })
  const { tenant } = await h.addTenant({ workflows: [BOUND], origins: ORIGINS })
  await get(h, `/frame/${tenant.id}`)
  await get(h, '/frame/script/x.js')
  const read = t.mock.method(h.service.store, 'read')
  for (const path of [`/frame/${tenant.id}`, '/frame/script/x.js'])
    assert.equal((await get(h, path)).status, 429, path)
  assert.equal(read.mock.callCount(), 0)
})
