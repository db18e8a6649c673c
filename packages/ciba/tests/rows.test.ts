import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { SqliteRows } from '../src/sqlite-rows.ts'

const REQUEST = 'BackchannelAuthenticationRequest'
const DAY_S = 86_400

/** Rows with a clock that the test moves. */
function rowsAt(seconds: number) {
  const clock = { now: seconds }
  const db = new DatabaseSync(':memory:')
  return { db, clock, rows: new SqliteRows(db, () => clock.now) }
}

test('a row is found by its kind and id, as it was stored last', async () => {
  const { rows } = rowsAt(1_000)
  const [requests, grants] = [rows.adapter(REQUEST), rows.adapter('Grant')]
  await requests.upsert('a', { clientId: 'first', jti: 'a' }, 60)
  await requests.upsert('b', { clientId: 'second' }, 60)
  await grants.upsert('a', { clientId: 'third' }, 60)
  await requests.upsert('a', { clientId: 'later' }, 60)
  assert.deepEqual(await requests.find('a'), { clientId: 'later', jti: 'a' })
  assert.deepEqual(await requests.find('b'), { clientId: 'second', jti: 'b' })
  assert.deepEqual(await grants.find('a'), { clientId: 'third', jti: 'a' })
  assert.equal(await grants.find('b'), undefined)
  await requests.destroy('a')
  assert.equal(await requests.find('a'), undefined)
  assert.ok(await grants.find('a'))
  assert.ok(await requests.find('b'))
})

test('the end of a grant removes its rows of one kind, but no request', async () => {
  const { rows } = rowsAt(1_000)
  const [tokens, requests] = [rows.adapter('AccessToken'), rows.adapter(REQUEST)]
  for (const [id, grantId] of [
    ['a', 'g1'],
    ['b', 'g2'],
  ] as const) {
    await tokens.upsert(id, { grantId }, 60)
    await requests.upsert(id, { grantId }, 60)
  }
  await tokens.revokeByGrantId('g1')
  await requests.revokeByGrantId('g1')
  const found = async (adapter: typeof tokens) =>
    (await Promise.all(['a', 'b'].map((id) => adapter.find(id)))).map((row) => row?.jti)
  assert.deepEqual(await found(tokens), [undefined, 'b'])
  assert.deepEqual(await found(requests), ['a', 'b'])
})

test('an approval has one answer, which is kept for two days', () => {
  const { rows, clock } = rowsAt(1_000)
  assert.equal(rows.answerOf('sess_a'), undefined)
  assert.equal(rows.enterAnswer('sess_a', 'first'), 'first')
  assert.equal(rows.enterAnswer('sess_a', 'second'), 'first')
  assert.equal(rows.enterAnswer('sess_b', ''), '')
  assert.equal(rows.enterAnswer('sess_b', 'late'), '')
  assert.deepEqual([rows.answerOf('sess_a'), rows.answerOf('sess_b')], ['first', ''])
  rows.removeExpired(clock.now + 2 * DAY_S)
  assert.equal(rows.answerOf('sess_a'), 'first')
  rows.removeExpired(clock.now + 2 * DAY_S + 1)
  assert.equal(rows.answerOf('sess_a'), undefined)
})

test('an id is seen once until it expires', () => {
  const { rows } = rowsAt(1_000)
  assert.deepEqual(
    [rows.seeOnce('a', 1_060), rows.seeOnce('a', 1_060), rows.seeOnce('b', 1_090)],
    [true, false, true],
  )
  rows.removeExpired(1_060)
  assert.equal(rows.seeOnce('a', 1_060), false)
  rows.removeExpired(1_061)
  assert.deepEqual([rows.seeOnce('a', 1_100), rows.seeOnce('b', 1_100)], [true, false])
})

test('a notice that failed is due again after 10 s, and then after twice the time, 10 min at most', () => {
  const { rows, clock } = rowsAt(1_000)
  rows.enterNotice('sess_a', { auth_req_id: 'r1' }, DAY_S)
  rows.enterNotice('sess_b', { auth_req_id: 'r2' }, DAY_S)
  const due = () => rows.dueNotices().map(({ approval }) => approval)
  const [first, other] = rows.dueNotices()
  assert.deepEqual(first, { approval: 'sess_a', content: { auth_req_id: 'r1' }, pauseS: 10 })
  assert.deepEqual(other, { approval: 'sess_b', content: { auth_req_id: 'r2' }, pauseS: 10 })
  for (const pause of [10, 20, 40, 80, 160, 320, 600, 600]) {
    const [notice] = rows.dueNotices()
    assert.equal(notice?.approval, 'sess_a')
    rows.postponeNotice(notice)
    clock.now += pause - 1
    assert.deepEqual(due(), ['sess_b'], `${pause} s are not over`)
    clock.now += 1
    assert.deepEqual(due(), ['sess_a', 'sess_b'], `${pause} s are over`)
  }
  // What a killed process has left is replaced, with its content and its pause.
  rows.enterNotice('sess_a', { auth_req_id: 'r3' }, 60)
  assert.deepEqual(rows.dueNotices()[0], {
    approval: 'sess_a',
    content: { auth_req_id: 'r3' },
    pauseS: 10,
  })
  rows.removeExpired(clock.now + 60)
  assert.deepEqual(due(), ['sess_a', 'sess_b'])
  rows.removeExpired(clock.now + 61)
  assert.deepEqual(due(), ['sess_b'])
  rows.removeNotice('sess_b')
  assert.deepEqual(due(), [])
})

test('only a request that expired before a time, and was not used, is listed until it is ended', async () => {
  const { rows, clock } = rowsAt(1_000)
  const requests = rows.adapter(REQUEST)
  const payload = (approval: string) => ({ clientId: 'agent', params: { approval } })
  for (const [id, seconds] of [
    ['early', 60],
    ['used', 60],
    ['late', 61],
  ] as const)
    await requests.upsert(id, payload(`sess_${id}`), seconds)
  await rows.adapter('Grant').upsert('grant', {}, 60)
  await requests.consume('used')
  assert.deepEqual(rows.expiredRequests(1_060), [])
  const [found, ...more] = rows.expiredRequests(1_061)
  assert.deepEqual([found?.payload, more], [payload('sess_early'), []])
  assert.equal(rows.expiredRequests(1_062).length, 2)
  assert.ok(found)
  clock.now = 1_070
  rows.end(found)
  assert.equal(rows.expiredRequests(1_062).length, 1)
  assert.equal((await requests.find('early'))?.['consumed'], 1_070)
  assert.equal((await requests.find('late'))?.['consumed'], undefined)
})

test('a request is known by its approval, and another row with it is none', async () => {
  const { rows } = rowsAt(1_000)
  const params = { approval: 'sess_a' }
  await rows.adapter('Grant').upsert('grant', { params }, 60)
  assert.equal(rows.hasRequest('sess_a'), false)
  await rows.adapter(REQUEST).upsert('request', { params }, 60)
  assert.deepEqual([rows.hasRequest('sess_a'), rows.hasRequest('sess_b')], [true, false])
})
