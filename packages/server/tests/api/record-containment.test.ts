import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { CONTAINER_BREACHES, type CreatedSession } from '@bonded/contract'
import { harness, type Reply, SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'
import { limited } from '../http/counted-calls.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())
type Service = Pick<typeof h, 'api' | 'shop'>

const report = (on: Service, session: CreatedSession, body: object): Promise<Reply> =>
  on.api('POST', `/sessions/${session.id}/containment`, {
    token: on.shop.publishable,
    headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
    body,
  })
const reportsOf = async (on: Service, { id }: CreatedSession) =>
  (await on.api('GET', `/sessions/${id}/timeline`, { token: on.shop.server })).body.entries
    .filter(({ kind }: { kind: string }) => kind === 'containment')
    .map(({ reason, step }: { reason: string; step: string | null }) => [reason, step])

test('records each report of a widget in the timeline without a change of the session', async () => {
  const { session } = await h.reach('pending')
  const before = (await h.get(session)).body
  for (const body of [
    { verdict: 'unverified', breaches: ['covered'] },
    { verdict: 'breached', breaches: ['transparent', 'too_small'] },
    { verdict: 'ok', breaches: [] },
  ])
    assert.equal((await report(h, session, body)).status, 204)
  assert.deepEqual(await reportsOf(h, session), [
    ['unverified', 'covered'],
    ['breached', 'transparent, too_small'],
    ['ok', null],
  ])
  const { state, seq, hint } = (await h.get(session)).body
  assert.deepEqual(
    { state, seq, hint },
    { state: before.state, seq: before.seq, hint: before.hint },
  )
})

test('rejects a verdict or a breach that the protocol does not define', async () => {
  const { session } = await h.reach('pending')
  for (const body of [
    { verdict: 'fine', breaches: [] },
    { verdict: 'breached', breaches: ['<script>'] },
    { verdict: 'breached', breaches: ['covered', 'covered'] },
    { verdict: 'breached', breaches: [...CONTAINER_BREACHES, 'covered'] },
  ])
    assert.equal((await report(h, session, body)).status, 400, JSON.stringify(body))
  assert.deepEqual(await reportsOf(h, session), [])
})

test('reads a session as not found for a report without its watch token', async () => {
  const { session } = await h.reach('pending')
  const other = await h.create()
  const body = { verdict: 'ok', breaches: [] }
  const rejected = await report(h, { ...session, watch_token: other.watch_token }, body)
  assert.deepEqual([rejected.status, rejected.body.error.reason], [404, 'session_not_found'])
  assert.deepEqual(await reportsOf(h, session), [])
})

test('records at most 8 reports of a session', async () => {
  await using strict = await limited()
  const session = await strict.create()
  const statuses: number[] = []
  for (let sent = 0; sent < 10; sent += 1)
    statuses.push((await report(strict, session, { verdict: 'ok', breaches: [] })).status)
  assert.deepEqual(statuses, [...Array.from({ length: 8 }, () => 204), 429, 429])
  assert.equal((await reportsOf(strict, session)).length, 8)
})
