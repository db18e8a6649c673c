import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { credentialChecksum } from '@bonded/contract'
import { harness, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())
const outcomeOf = (reply: { status: number; body: { error?: { reason: string } } }) => [
  reply.status,
  reply.body.error?.reason,
]
const INVALID = [401, 'credential_invalid']

test('rejects a server credential with the right key id, a wrong secret and a matching checksum', async () => {
  const session = await h.create()
  const other = await h.addKeys(h.shop.tenant, null)
  const bare = h.shop.server.slice(0, -6)
  for (const secret of [
    `${bare.slice(0, -1)}${bare.endsWith('0') ? '1' : '0'}`,
    `${bare.slice(0, 18)}${other.server.slice(18, -6)}`,
  ]) {
    const forged = { ...h.shop, server: secret + credentialChecksum(secret) }
    assert.deepEqual(outcomeOf(await h.get(session, forged)), INVALID)
  }
  assert.equal((await h.get(session)).status, 200)
})

test('rejects a device token with the right token id and another token’s secret', async () => {
  const [phone, other] = [await h.register(), await h.register()]
  const read = (token: string) => h.api('GET', `/devices/${phone.device_id}`, { token })
  assert.deepEqual(
    outcomeOf(await read(phone.device_token.slice(0, 13) + other.device_token.slice(13))),
    INVALID,
  )
  assert.equal((await read(phone.device_token)).status, 200)
})

test('rejects a revoked key that was cached', async () => {
  const session = await h.create()
  const keys = await h.addKeys(h.shop.tenant, null)
  const asBrowser = () =>
    h.api('GET', `/sessions/${session.id}`, {
      token: keys.publishable,
      headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
    })
  assert.deepEqual([(await h.get(session, keys)).status, (await asBrowser()).status], [200, 200])
  const revoke = (key: string) =>
    h.service.store.write((tables) => tables.tenants.revoke(key, h.clock.now()))
  assert.deepEqual(
    [await revoke(keys.server.slice(8, 18)), await revoke(keys.publishable)],
    [true, true],
  )
  assert.deepEqual(
    [outcomeOf(await h.get(session, keys)), outcomeOf(await asBrowser())],
    [INVALID, INVALID],
  )
  const again = await h.api('POST', '/sessions', {
    token: h.shop.server,
    body: { workflow: 'credit_application', publishableKey: keys.publishable },
  })
  assert.deepEqual(outcomeOf(again), [403, 'key_of_another_tenant'])
})
