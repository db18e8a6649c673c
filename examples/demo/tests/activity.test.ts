import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENDPOINTS } from '@bonded/contract'
import { createActivity } from '../src/index.ts'
import { entryOf, parseRequestLine } from '../src/activity/entries.ts'

const line = (members: object) =>
  JSON.stringify({
    msg: 'request',
    method: 'POST',
    route: '/api/v1/sessions',
    status: 201,
    ...members,
  })

test('describes a request of the service’s log with its call and its result', () => {
  const attested = parseRequestLine(line({ route: '/api/v1/attestations', status: 200 }))
  assert.ok(attested)
  assert.deepEqual(entryOf(attested, 'bonded'), {
    actor: 'Phone',
    call: 'POST /api/v1/attestations',
    text: 'signs the request that it shows',
    result: 'accepted, the session is bonded',
    tone: 'good',
  })
  const rejected = parseRequestLine(
    line({ route: '/api/v1/sessions/:session_id/claim', status: 409, reason: 'session_claimed' }),
  )
  assert.ok(rejected)
  assert.equal(entryOf(rejected, 'pending')?.result, 'refused: session_claimed')
})

test('shows the reads of the bank, and no poll of a browser or phone', () => {
  const read = (members: object) => {
    const parsed = parseRequestLine(
      line({ method: 'GET', route: '/api/v1/sessions/:session_id', status: 200, ...members }),
    )
    return parsed && entryOf(parsed, 'pending')?.actor
  }
  assert.equal(read({ caller: 'backend' }), 'Bank')
  assert.equal(read({ caller: 'browser' }), undefined)
  assert.equal(read({ caller: 'phone' }), undefined)
  assert.equal(read({ status: 403, reason: 'origin_not_allowed' }), 'Browser')
})

test('ignores every other line of the log', () => {
  for (const text of ['', 'no json', '{}', '{"msg":"request"}', '{"msg":"started","status":1}'])
    assert.equal(parseRequestLine(text), undefined)
  const health = parseRequestLine(line({ method: 'GET', route: '/health/ready', status: 200 }))
  assert.equal(health && entryOf(health, undefined), undefined)
})

test('names only calls that the service has', () => {
  const known = Object.values(ENDPOINTS).map(({ method, path }) => `${method} ${path}`)
  const called = [
    ['POST', '/api/v1/sessions'],
    ['GET', '/api/v1/sessions/{session_id}'],
    ['POST', '/api/v1/sessions/{session_id}/form-completed'],
    ['POST', '/api/v1/sessions/{session_id}/claim'],
    ['POST', '/api/v1/sessions/{session_id}/decline'],
    ['POST', '/api/v1/evidence'],
    ['POST', '/api/v1/attestations'],
    ['POST', '/api/v1/devices/challenges'],
    ['POST', '/api/v1/devices'],
    ['GET', '/api/v1/publishable-key'],
  ]
  for (const [method = '', route = ''] of called) {
    assert.ok(known.includes(`${method} ${route}`), route)
    const entry = entryOf({ method, route, status: 200, caller: 'backend' }, undefined)
    assert.ok(entry, route)
  }
})

test('keeps the order of entries, the channel of a session once, and a bounded list', async () => {
  const responses: ((state: string) => void)[] = []
  const activity = createActivity({
    stateOf: () => new Promise((resolve) => void responses.push(resolve)),
  })
  const changed = Promise.withResolvers<void>()
  activity.onChange(() => activity.entries().length === 3 && changed.resolve())
  const channel = line({
    method: 'GET',
    route: '/sessions/:session_id',
    status: 101,
    sessionId: 's',
  })
  activity.addLogLine(channel)
  activity.addLogLine(channel)
  activity.add({ actor: 'Service', text: 'second', tone: 'info' })
  activity.addLogLine(line({ sessionId: 's' }))
  const responding = setInterval(() => responses.shift()?.('pending'), 1)
  await changed.promise
  clearInterval(responding)
  assert.deepEqual(
    activity.entries().map(({ text }) => text),
    [
      'opens the channel and follows the session',
      'second',
      'creates a session with the text that the phone will show',
    ],
  )
})
