import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { SessionId } from '@bonded/contract'
import { listSessions } from '../../../../core/src/operations/admin/list-sessions.ts'
import { harness } from '../../../../../tests/harness/harness.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

test('pages through sessions newest first, without repeating or skipping one of the same millisecond', async () => {
  const created: string[] = []
  for (let count = 0; count < 7; count++) {
    if (count % 3 === 0) h.clock.advance(1)
    created.push((await h.create()).id)
  }
  const tenantId = h.shop.tenant.id
  const seen: string[] = []
  const times: number[] = []
  let after: SessionId | undefined
  do {
    const page = await listSessions(h.service, { tenantId, limit: 2, after })
    seen.push(...page.sessions.map(({ session }) => session.id))
    times.push(...page.sessions.map(({ session }) => session.createdAt))
    // A session that is created between two pages appears in neither.
    if (after === undefined) await h.create()
    after = page.next
  } while (after !== undefined)
  assert.deepEqual([...seen].sort(), [...created].sort())
  assert.deepEqual(
    times,
    [...times].sort((a, b) => b - a),
  )
})

test('filters by the state at this moment, whether or not an expiry is stored yet', async () => {
  const { session: bonded } = await h.reach('bonded')
  const pending = await h.create()
  const ids = async (state: 'pending' | 'expired' | 'bonded') => {
    const { sessions } = await listSessions(h.service, { state, limit: 100 })
    assert.ok(sessions.every((entry) => entry.state === state))
    return sessions.map(({ session }) => session.id as string)
  }
  assert.ok((await ids('pending')).includes(pending.id))
  assert.deepEqual([(await ids('bonded')).includes(bonded.id), await ids('expired')], [true, []])
  h.clock.advance(24 * 3_600_000)
  assert.deepEqual(await ids('pending'), [])
  assert.ok((await ids('expired')).includes(pending.id))
})

test('lists the sessions of one tenant only, where one is named', async () => {
  await h.create()
  const other = 'ten_0000000000000000000000' as typeof h.shop.tenant.id
  assert.deepEqual((await listSessions(h.service, { tenantId: other, limit: 5 })).sessions, [])
})
