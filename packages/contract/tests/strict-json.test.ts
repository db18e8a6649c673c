import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../tests/random.ts'
import { parseStrictJson } from '../src/index.ts'

test('rejects a duplicate member at any depth and with any escapes', () => {
  for (const text of [
    '{"a":1,"a":2}',
    '{"x":[{"a":1,"b":2,"a":3}]}',
    '{"a":1,"\\u0061":2}',
    '{"a" :1 , "a"\n:2}',
    '{"__proto__":1,"__proto__":2}',
    '{"a":"\\\\","a":1}',
  ]) {
    assert.equal((parseStrictJson(text) as { problem: string }).problem, 'duplicate_member', text)
  }
})

test('accepts the same name in two objects, and a name that is also a value', () => {
  for (const text of [
    '{"a":{"a":1},"b":{"a":1}}',
    '[{"a":1},{"a":1}]',
    '{"a":"a","b":"a"}',
    '{"a":"x\\":","b":1}',
    '{"a":"x\\\\","b":1}',
  ]) {
    assert.deepEqual(parseStrictJson(text), { value: JSON.parse(text) }, text)
  }
})

test('accepts sixteen levels of nesting and rejects seventeen', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  assert.ok('value' in parseStrictJson(nested(16)))
  assert.deepEqual(parseStrictJson(nested(17)), { problem: 'nesting_too_deep' })
  assert.deepEqual(parseStrictJson(nested(30_000)), { problem: 'nesting_too_deep' })
  // Of two members of one name JSON.parse drops the first, however deep it was.
  assert.deepEqual(parseStrictJson(`{"a":${nested(16)},"a":1}`), { problem: 'nesting_too_deep' })
  assert.deepEqual(parseStrictJson(`{"a":${nested(15)},"a":1}`), {
    problem: 'duplicate_member',
    member: 'a',
  })
})

test('rejects a lone surrogate and accepts a pair', () => {
  assert.deepEqual(parseStrictJson('{"a":"\\ud800"}'), { problem: 'lone_surrogate' })
  assert.deepEqual(parseStrictJson('{"\\uDFFF":1}'), { problem: 'lone_surrogate' })
  assert.deepEqual(parseStrictJson('"\\ud83d\\ude00"'), { value: '😀' })
})

test('rejects U+0000 in a string or a name, and names its path', () => {
  const found = (member: string) => ({ problem: 'null_character', member })
  assert.deepEqual(parseStrictJson('{"a":"\\u0000"}'), found('a'))
  assert.deepEqual(parseStrictJson('"\\u0000"'), found(''))
  assert.deepEqual(parseStrictJson('{"a":[1,{"b":"x\\u0000y"}]}'), found('a.1.b'))
  assert.deepEqual(parseStrictJson('{"a":{"b\\u0000":1}}'), found('a.b\0'))
  assert.deepEqual(parseStrictJson('"\\\\u0000"'), { value: '\\u0000' })
  assert.deepEqual(parseStrictJson('"\\u0001"'), { value: '\u0001' })
})

test('rejects a text that JSON.parse rejects as malformed', () => {
  for (const text of [
    '',
    '{',
    '{"a":1,}',
    'nul',
    '{"a":1} x',
    "{'a':1}",
    '"\t"',
    '01',
    '[1',
    '{"a"}',
    ']',
    '}{',
  ]) {
    assert.deepEqual(parseStrictJson(text), { problem: 'malformed_json' }, text)
  }
})

test('every text JSON.stringify writes is read back as the same value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }), (value) => {
      const text = JSON.stringify(value)
      const result = parseStrictJson(text)
      if ('value' in result) assert.deepEqual(result.value, JSON.parse(text))
      else assert.match(result.problem, /^(lone_surrogate|null_character)$/)
    }),
  )
})
