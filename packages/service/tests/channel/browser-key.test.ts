import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type ChannelOptions, openChannel } from '../harness/channel.ts'
import { harness, SHOP_ORIGIN } from '../harness/harness.ts'

const OTHER_ORIGIN = 'https://other.example'
const h = await harness()
after(() => h[Symbol.asyncDispose]())
const other = await h.addTenant({ name: 'Other', origins: [OTHER_ORIGIN, SHOP_ORIGIN] })
const revoked = await h.addKeys(h.shop.tenant, null)
await h.service.store.write((tables) => tables.tenants.revoke(revoked.publishable, h.clock.now()))

for (const [what, options, status, reason] of [
  ['no key', { origin: SHOP_ORIGIN }, 401, 'credential_missing'],
  ['an unknown key', { key: `pk_beta_${'0'.repeat(22)}` }, 401, 'credential_invalid'],
  ['a malformed key', { key: 'pk_beta_x' }, 401, 'credential_invalid'],
  ['a revoked key', { key: revoked.publishable }, 401, 'credential_invalid'],
  ['a server credential', { key: h.shop.server }, 401, 'credential_invalid'],
  ['another tenant’s key', { key: other.publishable }, 404, 'session_not_found'],
  [
    'an origin that is not the tenant’s',
    { key: h.shop.publishable, origin: 'https://evil.example' },
    403,
    'origin_not_allowed',
  ],
  [
    'another tenant’s origin',
    { key: h.shop.publishable, origin: OTHER_ORIGIN },
    403,
    'origin_not_allowed',
  ],
] as const satisfies readonly (readonly [string, ChannelOptions, number, string])[])
  test(`rejects a browser’s channel with ${what}, although the watch token is right`, async () => {
    const session = await h.create()
    const refused = await openChannel(h.running.port, session, options).refused
    assert.deepEqual([refused.status, refused.body.error.reason], [status, reason])
    const phone = await h.register()
    assert.equal((await h.view(phone, session)).requesting_origin, null)
  })

test('opens a phone’s channel by the watch token alone', async () => {
  const channel = openChannel(h.running.port, await h.create())
  assert.equal((await channel.next()).type, 'hello')
  channel.socket.close()
})

test('shows the phone a page’s origin once that page has opened a channel with key and token', async () => {
  const session = await h.create()
  const phone = await h.register()
  assert.equal((await h.view(phone, session)).requesting_origin, null)
  const channel = openChannel(h.running.port, session, { key: h.shop.publishable })
  await channel.next()
  assert.equal((await h.view(phone, session)).requesting_origin, SHOP_ORIGIN)
  channel.socket.close()
})

test('selects bonded.v1 and never echoes the key or the token', async () => {
  const channel = openChannel(h.running.port, await h.create(), { key: h.shop.publishable })
  await channel.next()
  assert.equal(channel.socket.protocol, 'bonded.v1')
  channel.socket.close()
})
