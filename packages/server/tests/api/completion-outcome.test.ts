import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { TimelineEntry } from '@bonded/contract'
import { openChannel } from '../../../../tests/harness/channel.ts'
import { harness, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

/** Returns the outcome in the full, the public and the phone view. */
async function outcomes({ session, phone }: Awaited<ReturnType<typeof h.reach>>) {
  const browser = await h.api('GET', `/sessions/${session.id}`, {
    token: h.shop.publishable,
    headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
  })
  return [
    (await h.get(session)).body.outcome,
    browser.body.outcome,
    (await h.view(phone, session)).outcome,
  ]
}

test('shows what the backend said at completion in every view', async () => {
  for (const said of ['accepted', 'in_review']) {
    const bonded = await h.reach('bonded')
    assert.deepEqual(await outcomes(bonded), [null, null, null])
    const { status } = await h.complete(bonded.session, { 'x-bond-outcome': said })
    assert.equal(status, 200)
    assert.deepEqual(await outcomes(bonded), [said, said, said])
  }
})

test('shows no outcome where the backend said none', async () => {
  const bonded = await h.reach('bonded')
  await h.complete(bonded.session)
  assert.deepEqual(await outcomes(bonded), [null, null, null])
})

test('notes in the timeline that a completion without an outcome makes no key known', async () => {
  for (const [headers, noted] of [
    [{}, ['outcome_missing']],
    [{ 'x-bond-outcome': 'accepted' }, []],
    [{ 'x-bond-outcome': 'in_review' }, []],
  ] as const) {
    const { session } = await h.reach('bonded')
    await h.complete(session, headers)
    await h.complete(session, headers)
    const path = `/sessions/${session.id}/timeline`
    const { entries } = (await h.api('GET', path, { token: h.shop.server })).body
    const notes = (entries as TimelineEntry[]).filter(({ kind }) => kind === 'note')
    assert.deepEqual(
      notes.map(({ reason }) => reason),
      noted,
    )
    // Everything has happened in one moment, and is listed in the order in which it did.
    const kinds = (entries as TimelineEntry[]).map(({ kind }) => kind)
    assert.deepEqual([kinds[0], kinds.at(-1)], ['created', noted.length > 0 ? 'note' : 'completed'])
  }
})

test('keeps the first outcome when a completion is repeated with another one or with none', async () => {
  for (const [first, expected] of [
    [{ 'x-bond-outcome': 'in_review' }, 'in_review'],
    [{}, null],
  ] as const) {
    const bonded = await h.reach('bonded')
    await h.complete(bonded.session, first)
    for (const again of [{ 'x-bond-outcome': 'accepted' }, {}])
      assert.equal((await h.complete(bonded.session, again)).status, 200)
    assert.deepEqual(await outcomes(bonded), [expected, expected, expected])
  }
})

test('of concurrent completions with different outcomes stores exactly one', async () => {
  const bonded = await h.reach('bonded')
  const said = ['accepted', 'in_review', 'accepted', 'in_review']
  const replies = await Promise.all(
    said.map((outcome) => h.complete(bonded.session, { 'x-bond-outcome': outcome })),
  )
  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
  const [first, ...others] = await outcomes(bonded)
  assert.ok(said.includes(first ?? ''))
  for (const other of others) assert.equal(other, first)
  const timeline = (
    await h.api('GET', `/sessions/${bonded.session.id}/timeline`, { token: h.shop.server })
  ).body.entries as { kind: string }[]
  assert.equal(timeline.filter(({ kind }) => kind === 'completed').length, 1)
})

test('rejects another outcome and completes nothing', async () => {
  const bonded = await h.reach('bonded')
  for (const wrong of ['rejected', 'Accepted', '', 'accepted,in_review']) {
    const { status, body } = await h.complete(bonded.session, { 'x-bond-outcome': wrong })
    assert.deepEqual([status, body.error.reason], [400, 'invalid_header'], wrong)
  }
  assert.equal((await h.get(bonded.session)).body.state, 'bonded')
})

test('stores no outcome of a completion with a wrong secret', async () => {
  const bonded = await h.reach('bonded')
  const wrong = { ...bonded.session, completion_secret: `bcs_${'A'.repeat(43)}` }
  await h.complete(wrong, { 'x-bond-outcome': 'in_review' })
  await h.complete(bonded.session)
  assert.deepEqual(await outcomes(bonded), [null, null, null])
})

test('sends the outcome to a channel that is open, and to one that reconnects', async () => {
  const { session } = await h.reach('bonded')
  const channel = openChannel(h.running.port, session, { key: h.shop.publishable })
  const hello = await channel.next()
  assert.equal((hello.data as { outcome: unknown }).outcome, null)
  await h.complete(session, { 'x-bond-outcome': 'in_review' })
  const frame = await channel.next()
  assert.deepEqual(
    [frame.state, frame.data],
    ['completed', { ended_reason: null, outcome: 'in_review' }],
  )
  await channel.closed
  const again = openChannel(h.running.port, session, {
    key: h.shop.publishable,
    after: hello.seq,
  })
  assert.deepEqual((await again.next()).data, { ended_reason: null, outcome: 'in_review' })
})
