import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { type ChannelOptions, openChannel } from '../../../../tests/harness/channel.ts'
import { harness, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'

const OTHER_ORIGIN = 'https://other.example'
const h = await harness()
after(() => h[Symbol.asyncDispose]())
const other = await h.addTenant({ name: 'Other', origins: [OTHER_ORIGIN, SHOP_ORIGIN] })
const revoked = await h.addKeys(h.shop.tenant, null)
await h.service.store.write((tables) => tables.tenants.revoke(revoked.publishable, h.clock.now()))

for (const [what, options, status, reason] of [
  ['no key at another tenant’s origin', { origin: OTHER_ORIGIN }, 403, 'origin_not_allowed'],
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
    const rejected = await openChannel(h.running.port, session, options).rejected
    assert.deepEqual([rejected.status, rejected.body.error.reason], [status, reason])
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

/** Opens a browser's channel and waits for its first frame. */
async function opened(options: ChannelOptions) {
  const channel = openChannel(h.running.port, await h.create(), options)
  await channel.next()
  return channel
}

test('closes the channels of a revoked publishable key with 4401 within a second, and no others', async () => {
  const { publishable } = await h.addKeys(h.shop.tenant, null)
  const channels = await Promise.all([
    opened({ key: publishable }),
    opened({ key: publishable }),
    opened({ key: h.shop.publishable }),
    opened({}),
  ])
  await h.service.store.write((tables) => tables.tenants.revoke(publishable, h.clock.now()))
  h.clock.advance(1_000)
  const [first, second, ...others] = channels
  assert.deepEqual(await Promise.all([first?.closed, second?.closed]), [4401, 4401])
  assert.ok(others.every(({ socket }) => socket.readyState === socket.OPEN))
  for (const { socket } of others) socket.close()
})

test('keeps a channel open until the instant at which its key ends', async () => {
  const { publishable } = await h.addKeys(h.shop.tenant, null)
  const { socket, closed } = await opened({ key: publishable })
  const endsAt = h.clock.now() + 3_000
  await h.service.store.write((tables) => tables.tenants.revoke(publishable, endsAt))
  for (let second = 1; second < 3; second++) {
    h.clock.advance(1_000)
    // The response to a ping arrives after everything that the service sent before it.
    socket.ping()
    await once(socket, 'pong')
    assert.equal(socket.readyState, socket.OPEN)
  }
  h.clock.advance(1_000)
  assert.equal(await closed, 4401)
})

test('closes the channels from an origin that an operator has removed from the tenant', async () => {
  const [removed, remaining] = ['https://one.example', 'https://two.example'] as const
  const keys = await h.addTenant({ name: 'Two origins', origins: [removed, remaining] })
  const openFrom = async (origin: string) => {
    const session = await h.create(undefined, keys)
    const channel = openChannel(h.running.port, session, { key: keys.publishable, origin })
    await channel.next()
    return channel
  }
  const openWithoutKey = async (origin: string) => {
    const channel = openChannel(h.running.port, await h.create(undefined, keys), { origin })
    await channel.next()
    return channel
  }
  const [first, second] = [await openFrom(removed), await openFrom(remaining)]
  const [third, fourth] = [await openWithoutKey(removed), await openWithoutKey(remaining)]
  await h.service.store.write((tables) =>
    tables.tenants.update(keys.tenant, { ...keys.tenant, origins: [remaining] }),
  )
  h.clock.advance(1_000)
  assert.deepEqual(await Promise.all([first.closed, third.closed]), [4401, 4401])
  for (const { socket } of [second, fourth]) {
    assert.equal(socket.readyState, socket.OPEN)
    socket.close()
  }
})
