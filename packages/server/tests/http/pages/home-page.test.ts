import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { harness } from '../../../../../tests/harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

test('the root says what the service is, and leads to the pages that a visitor may want', async () => {
  const { status, headers, text } = await h.call('GET', '/')
  assert.equal(status, 200)
  assert.match(String(headers['content-type']), /^text\/html/)
  for (const part of ['approve an important action', 'href="/bond"', 'href="/health/ready"'])
    assert.ok(text.includes(part), part)
  for (const path of ['/bond', '/health/ready'])
    assert.equal((await h.call('GET', path)).status, 200, path)
})

test('the root runs no script, and names neither a tenant nor a version', async () => {
  const { headers, text } = await h.call('GET', '/')
  const policy = String(headers['content-security-policy'])
  assert.match(policy, /^default-src 'none'; style-src 'sha256-[^']+'; img-src 'self'/)
  assert.match(policy, /frame-ancestors 'none'/)
  assert.doesNotMatch(text, /<script|\d+\.\d+\.\d+/)
  assert.ok(!text.includes(h.shop.tenant.name))
})

test('every document has an icon, at the address that browsers try', async () => {
  const { status, headers, text } = await h.call('GET', '/favicon.ico')
  assert.deepEqual([status, headers['content-type']], [200, 'image/svg+xml'])
  assert.match(text, /^<svg /)
  assert.equal(headers['cache-control'], 'public, max-age=86400')
})
