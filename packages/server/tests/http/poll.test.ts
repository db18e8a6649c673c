import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { harness, type Reply, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'
import { TestClock } from '../../../../tests/harness/test-clock.ts'

/** A clock that says for how long the service begins to wait. */
class WatchedClock extends TestClock {
  onWait: (ms: number) => unknown = () => {}

  override schedule(at: number, callback: () => void) {
    this.onWait(at - this.now())
    return super.schedule(at, callback)
  }
}

/** How long polls of these tests may wait. The service waits for its own work too. */
const WAITS: readonly number[] = [1_234, 20_000, 25_000, 99_999]

/** A service and its polls. */
async function scene() {
  const clock = new WatchedClock()
  const h = await harness({ clock })
  return {
    h,
    /** Sends a poll. Returns its reply, and what comes first: the reply or the wait. */
    poll(session: CreatedSession, query: string) {
      const waits = Promise.withResolvers<number>()
      clock.onWait = (ms) => WAITS.includes(ms) && waits.resolve(ms)
      const reply = h.api('GET', `/sessions/${session.id}?${query}`, {
        token: h.shop.publishable,
        headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
      })
      return { reply, first: Promise.race<number | Reply>([waits.promise, reply]) }
    },
    [Symbol.asyncDispose]: () => h[Symbol.asyncDispose](),
  }
}

test('responds to a waiting poll at the next change of its session', async () => {
  await using s = await scene()
  const { h } = s
  const [session, other] = [await h.create(), await h.create()]
  const phone = await h.register()
  const another = s.poll(other, 'wait_ms=20000&after=1')
  assert.equal(await another.first, 20_000)
  const waiting = s.poll(session, 'wait_ms=20000&after=1')
  assert.equal(await waiting.first, 20_000)
  await h.claim(phone, session)
  const { seq, hint } = (await waiting.reply).body
  assert.deepEqual([seq, hint], [2, 'scanned'])

  const missed = (await s.poll(session, 'wait_ms=20000&after=1').first) as Reply
  assert.equal(missed.body.seq, 2, 'a missed change is answered at once')
  assert.equal(await s.poll(session, 'wait_ms=20000&after=2').first, 20_000)
  assert.equal(await s.poll(session, 'wait_ms=20000').first, 20_000)
  h.clock.advance(20_000)
  assert.equal((await another.reply).body.seq, 1)
})

test('waits as long as a poll asks, and for 25 s at most', async () => {
  await using s = await scene()
  const { h } = s
  const session = await h.create()
  for (const [asked, waited] of [
    [1_234, 1_234],
    [99_999, 25_000],
  ] as const) {
    const { first, reply } = s.poll(session, `wait_ms=${asked}&after=1`)
    assert.equal(await first, waited)
    h.clock.advance(waited)
    assert.equal((await reply).body.seq, 1)
  }
  for (const query of ['wait_ms=0', 'after=1', ''])
    assert.equal(((await s.poll(session, query).first) as Reply).body.seq, 1, query)
})
