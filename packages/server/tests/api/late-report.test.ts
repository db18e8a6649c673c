import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { READABLE_AFTER_END_MS } from '../../../core/src/domain/lifetimes.ts'
import { purgeSessions } from '../../../core/src/operations/maintenance/purge-sessions.ts'
import { harness, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

/** Longer than a bond lasts. */
const LATER_MS = 16 * 60_000
type Reached = Awaited<ReturnType<typeof h.reach>>

/** A session that was approved, and whose time has ended since. */
async function outlasted(): Promise<Reached> {
  const reached = await h.reach('bonded')
  h.clock.advance(LATER_MS)
  return reached
}

const thrice = <T>(value: T) => Array.from({ length: 3 }, () => value)

/** The state, the time and the outcome in the full, the public and the phone view. */
async function views({ session, phone }: Reached) {
  const browser = await h.api('GET', `/sessions/${session.id}`, {
    token: h.shop.publishable,
    headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
  })
  return [(await h.get(session)).body, browser.body, await h.view(phone, session)].map(
    ({ state, reported_at, outcome }) => [state, reported_at, outcome],
  )
}

async function entriesOf({ session }: Reached) {
  const { body } = await h.api('GET', `/sessions/${session.id}/timeline`, { token: h.shop.server })
  return body.entries as { kind: string; reason: string | null; step: string | null }[]
}

/** A report, and what its response says of a kept one. */
async function report({ session }: Pick<Reached, 'session'>, headers: Record<string, string> = {}) {
  const { status, body } = await h.complete(session, headers)
  const { code, reason, reported_at: reportedAt } = body.error
  assert.deepEqual([status, code, reason], [404, 'not_found', 'session_not_found'])
  return reportedAt as string | undefined
}

for (const said of ['accepted', 'in_review', null] as const)
  test(`a late report is kept and shown, without a change of state: ${said}`, async () => {
    const reached = await outlasted()
    assert.deepEqual(await views(reached), thrice(['expired', null, null]))
    const { seq } = (await h.get(reached.session)).body
    const at = new Date(h.clock.now()).toISOString()
    assert.equal(await report(reached, said === null ? {} : { 'x-bond-outcome': said }), at)
    assert.deepEqual(await views(reached), thrice(['expired', at, said]))
    assert.equal((await h.get(reached.session)).body.seq, seq)
    const notes = (await entriesOf(reached)).filter(({ reason }) => reason === 'reported_late')
    assert.deepEqual(
      notes.map(({ kind, step }) => [kind, step]),
      [['note', said]],
    )

    h.clock.advance(1_000)
    assert.equal(await report(reached, { 'x-bond-outcome': 'in_review' }), at)
    assert.deepEqual(await views(reached), thrice(['expired', at, said]))
  })

test('of concurrent late reports one is kept, and each response has its time', async () => {
  const reached = await outlasted()
  const said = ['accepted', 'in_review', 'accepted', 'in_review']
  const times = await Promise.all(
    said.map((outcome) => report(reached, { 'x-bond-outcome': outcome })),
  )
  const [[state, at, outcome] = []] = await views(reached)
  assert.equal(state, 'expired')
  assert.deepEqual(new Set(times), new Set([at]))
  assert.ok(said.includes(String(outcome)))
  const notes = (await entriesOf(reached)).filter(({ reason }) => reason === 'reported_late')
  assert.equal(notes.length, 1)
})

test('keeps a late report until the session is purged, also when it can no longer be read', async () => {
  const reached = await outlasted()
  h.clock.advance(READABLE_AFTER_END_MS)
  assert.equal((await h.get(reached.session)).status, 404)
  assert.equal(await report(reached), new Date(h.clock.now()).toISOString())
  h.clock.advance(24 * 60 * 60_000)
  await purgeSessions(h.service)
  assert.equal(await report(reached), undefined)
})

test('keeps no late report without the secret, or about another context', async () => {
  const reached = await outlasted()
  const wrong = { ...reached.session, completion_secret: `bcs_${'A'.repeat(43)}` }
  assert.equal(await report({ session: wrong }), undefined)
  const { session } = reached
  const bare = await h.api('POST', `/sessions/${session.id}/form-completed`, {
    token: h.shop.server,
  })
  assert.deepEqual([bare.status, bare.body.error.reported_at], [404, undefined])
  assert.equal(await report(reached, { 'x-bond-context-digest': 'A'.repeat(43) }), undefined)
  assert.deepEqual(await views(reached), thrice(['expired', null, null]))
})

test('keeps no report about a session that expired without a bond', async () => {
  const session = await h.create()
  h.clock.advance(LATER_MS)
  assert.equal(await report({ session }), undefined)
  const { body } = await h.get(session)
  assert.deepEqual([body.state, 'reported_at' in body], ['expired', false])
})

for (const kill of ['declined', 'killed after its bond'] as const)
  test(`keeps no report about a session that was ${kill}`, async () => {
    const { session, phone } = await h.reach(kill === 'declined' ? 'pending' : 'bonded')
    if (kill === 'declined') await h.decline(phone, session)
    else await h.kill(session)
    h.clock.advance(LATER_MS)
    const { status, body } = await h.complete(session, { 'x-bond-outcome': 'accepted' })
    assert.deepEqual([status, body.error.reason], [400, 'session_not_bonded'])
    assert.equal(body.error.reported_at, undefined)
    const { state, outcome } = (await h.get(session)).body
    assert.deepEqual([state, outcome], ['killed', null])
  })
