import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { openChannel } from '../../../../tests/harness/channel.ts'
import { harness, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

/** The page's own watch token by default; null sends none. */
const cancel = (session: CreatedSession, watchToken: string | null = session.watch_token) =>
  h.api('POST', `/sessions/${session.id}/cancel`, {
    token: h.shop.publishable,
    headers: { origin: SHOP_ORIGIN, ...(watchToken !== null && { 'x-bond-watch': watchToken }) },
  })

test('a phone cannot approve, decline or claim a canceled session, and learns why it ended', async () => {
  const { session, phone } = await h.reach('pending')
  const view = (await h.claim(phone, session)).body
  const { verified_evidence } = (await h.evidence(phone, view)).body
  assert.ok(verified_evidence)
  const channel = openChannel(h.running.port, session)
  await channel.next()
  assert.equal((await cancel(session)).body.state, 'killed')
  for (const rejected of [
    await h.attest(phone, view),
    await h.decline(phone, session),
    await h.claim(phone, session),
  ])
    assert.equal(rejected.body.error.reason, 'session_not_live')
  assert.equal((await h.view(phone, session)).state, 'killed')
  const frame = await channel.next()
  assert.deepEqual(
    [frame.type, frame.state, frame.data],
    ['state', 'killed', { ended_reason: 'canceled', outcome: null }],
  )
  const { entries } = (
    await h.api('GET', `/sessions/${session.id}/timeline`, { token: h.shop.server })
  ).body
  const ends = entries.filter(({ kind }: { kind: string }) => kind === 'killed')
  assert.deepEqual(
    ends.map(({ reason }: { reason: string }) => reason),
    ['canceled'],
  )
})

test('a repeated cancel changes nothing', async () => {
  const { session } = await h.reach('pending')
  const first = (await cancel(session)).body
  assert.equal((await cancel(session)).body.seq, first.seq)
})

test('rejects a cancel without the watch token or with that of another session', async () => {
  const { session } = await h.reach('pending')
  const other = await h.create()
  for (const token of [null, `${session.watch_token}A`, other.watch_token])
    assert.equal((await cancel(session, token)).body.error.reason, 'session_not_found')
  assert.equal((await h.get(session)).body.state, 'pending')
})

test('a page cannot cancel a bond, which its backend may already have acted on', async () => {
  const { session } = await h.reach('bonded')
  assert.equal((await cancel(session)).body.state, 'bonded')
  assert.equal((await h.complete(session)).status, 200)
})

test('a page that cancels a bond after its time reads that it has expired', async () => {
  const { session } = await h.reach('bonded')
  const { expires_at } = (await h.get(session)).body
  h.clock.advance(Date.parse(expires_at) - h.clock.now())
  const canceled = await cancel(session)
  assert.deepEqual([canceled.status, canceled.body.state], [200, 'expired'])
})
