import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isRevoked, readStatusList } from '../../src/android/status-list.ts'

const REVOKED = { status: 'REVOKED', reason: 'KEY_COMPROMISE' }
const read = (entries: unknown) => readStatusList(JSON.stringify({ entries }))

test('counts every listed serial as revoked, whatever its status', () => {
  const list = read({
    a1: REVOKED,
    a2: { status: 'SUSPENDED' },
    a3: { status: 'A_STATUS_THAT_DOES_NOT_EXIST_YET' },
  })
  assert.deepEqual(list, { serials: new Set(['a1', 'a2', 'a3']), malformedEntries: 0 })
})

test('counts a serial as revoked when its entry is malformed', () => {
  for (const entry of [null, 'REVOKED', [], {}, { status: 1 }])
    assert.deepEqual(read({ a1: REVOKED, a2: entry }), {
      serials: new Set(['a1', 'a2']),
      malformedEntries: 1,
    })
})

test('skips an entry whose serial is malformed, and keeps the other entries', () => {
  for (const serial of ['', 'xyz', '0xa2', 'a2 ', ' a2', '-1', 'a'.repeat(65)])
    assert.deepEqual(read({ [serial]: REVOKED, a1: REVOKED }), {
      serials: new Set(['a1']),
      malformedEntries: 1,
    })
  assert.equal(read({ ['a'.repeat(64)]: REVOKED })?.malformedEntries, 0)
})

test('reads serials in lower case without leading zeros', () => {
  const list = read({ '00AB01': REVOKED, '000': REVOKED, c00: REVOKED })
  assert.deepEqual(list?.serials, new Set(['ab01', '0', 'c00']))
})

test('reads an empty list, and rejects a list of which it can read no entry', () => {
  assert.deepEqual(read({}), { serials: new Set(), malformedEntries: 0 })
  assert.equal(read({ xyz: REVOKED }), undefined)
})

test('rejects a text of another form', () => {
  for (const text of ['', 'REVOKED', 'null', '[]', '{}', '"a"', '{"entries":[]}', '{"entries":1}'])
    assert.equal(readStatusList(text), undefined, text)
})

test('finds a serial in hexadecimal and in decimal form', () => {
  assert.equal(isRevoked(new Set(['ab01']), 'ab01'), true)
  assert.equal(isRevoked(new Set(['43777']), 'ab01'), true)
  assert.equal(isRevoked(new Set(['ab02', '43778']), 'ab01'), false)
  assert.equal(isRevoked(new Set(), 'ab01'), false)
})
