import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENDPOINTS, firstMismatch } from '@bonded/contract'

const { registered } = ENDPOINTS.registerDevice.responses
const { keys } = ENDPOINTS.listKeys.responses
const { completed } = ENDPOINTS.completeSession.responses
const id = (prefix: string) => `${prefix}_${'0'.repeat(22)}`
const KEY = {
  device_id: id('dev'),
  format: 'software',
  environment: 'sandbox',
  status: 'active',
  created_at: '2026-11-21T09:30:00.000Z',
  last_assertion_at: null,
  added_by: null,
  also_removes: [],
  browser_key: null,
}
const LIST = { subject_id: id('sub'), server_time: '2026-11-21T09:30:00.000Z', keys: [KEY] }

test('accepts a response with members and words that this version does not know', () => {
  assert.equal(
    firstMismatch(completed, { ok: true, session_id: id('sess'), later: { a: 1 } }),
    undefined,
  )
  const key = { ...KEY, status: 'a_later_word' }
  assert.equal(firstMismatch(keys, { ...LIST, keys: [key] }), undefined)
})

test('names the first member that is missing or has another type or form', () => {
  assert.equal(firstMismatch(completed, { ok: true }), 'session_id')
  assert.equal(firstMismatch(completed, { ok: 'yes', session_id: id('sess') }), 'ok')
  assert.equal(firstMismatch(completed, { ok: true, session_id: id('dev') }), 'session_id')
  assert.equal(firstMismatch(registered, { device_id: 7 }), 'device_id')
  assert.equal(firstMismatch(keys, { ...LIST, keys: [{}] }), 'keys')
  assert.equal(firstMismatch(keys, { ...LIST, server_time: 'now' }), 'server_time')
})

test('rejects a value that is not an object', () => {
  for (const value of [undefined, null, [], 'text', 1])
    assert.equal(firstMismatch(completed, value), 'not_an_object')
})

test('reads no member from a polluted Object.prototype', () => {
  Object.defineProperty(Object.getPrototypeOf({}), 'ok', { value: true, configurable: true })
  try {
    assert.equal(firstMismatch(completed, { session_id: id('sess') }), 'ok')
  } finally {
    Reflect.deleteProperty(Object.prototype, 'ok')
  }
})
