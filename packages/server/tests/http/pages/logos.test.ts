import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setLogo } from '../../../../core/src/operations/admin/tenant-logo.ts'
import { harness } from '../../../../../tests/harness/harness.ts'
import { png } from '../../../../../tests/png.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

const LOGO = png()
const SVG = '<svg viewBox="0 0 1 1"><path d="M0 0h1v1H0z"/></svg>'

async function shown(): Promise<{ tenant_name: string; tenant_logo_url: string | null }> {
  const session = await h.create()
  const { body } = await h.api('GET', `/sessions/${session.id}`, {
    token: h.shop.publishable,
    headers: { 'x-bond-watch': session.watch_token, origin: 'https://shop.example' },
  })
  return body
}

test('shows a browser the tenant’s name, and its logo once there is one', async () => {
  assert.equal((await shown()).tenant_logo_url, null)
  await setLogo(h.service, h.shop.tenant.id, LOGO)
  const { tenant_name, tenant_logo_url } = await shown()
  assert.ok(tenant_name.length > 0)
  const { status, headers } = await h.call('GET', String(tenant_logo_url))
  assert.equal(status, 200)
  assert.equal(headers['content-length'], String(LOGO.length))
  assert.equal(headers['content-type'], 'image/png')
  assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.match(String(headers['content-security-policy']), /^default-src 'none'; sandbox$/)
})

test('serves a replaced logo at another address, and no removed one', async () => {
  await setLogo(h.service, h.shop.tenant.id, LOGO)
  const before = (await shown()).tenant_logo_url
  await setLogo(h.service, h.shop.tenant.id, png(9, 9))
  const after = (await shown()).tenant_logo_url
  assert.notEqual(before, after)
  await setLogo(h.service, h.shop.tenant.id, null)
  assert.equal((await shown()).tenant_logo_url, null)
  for (const path of [
    before,
    after,
    `/v1/logos/${'a'.repeat(22)}.svg`,
    `/v1/logos/${'a'.repeat(22)}.html`,
  ])
    assert.equal((await h.call('GET', String(path))).status, 404)
})

test('rejects a file of another kind, and an unknown tenant', async () => {
  for (const text of ['GIF89a', SVG])
    await assert.rejects(setLogo(h.service, h.shop.tenant.id, Buffer.from(text)), {
      code: 'invalid',
    })
  await assert.rejects(setLogo(h.service, `ten_${'x'.repeat(22)}` as never, LOGO), {
    code: 'not_found',
  })
})
