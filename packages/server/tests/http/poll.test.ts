import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { harness, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

test('responds to a waiting poll at the next change', async () => {
  const session = await h.create()
  const phone = await h.register()
  const poll = (after: number, waitMs = 20_000) =>
    h.api('GET', `/sessions/${session.id}?wait_ms=${waitMs}&after=${after}`, {
      token: h.shop.publishable,
      headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
    })
  const waiting = poll(1)
  await h.claim(phone, session)
  assert.deepEqual([(await waiting).body.seq, (await waiting).body.hint], [2, 'scanned'])
  assert.equal((await poll(1)).body.seq, 2, 'a missed change is answered at once')
})
