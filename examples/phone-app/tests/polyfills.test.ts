import assert from 'node:assert/strict'
import { test } from 'node:test'
import { installPolyfills } from '../src/native/polyfills.ts'

/** The parts of the language that Hermes may lack. */
const PARTS = [
  [String.prototype, 'isWellFormed'],
  [Array.prototype, 'toSorted'],
  [Promise, 'withResolvers'],
] as const

test('the polyfills behave as the engine does, and replace nothing that exists', async (t) => {
  const native = PARTS.map(([owner, name]) => Object.getOwnPropertyDescriptor(owner, name))
  installPolyfills()
  PARTS.forEach(([owner, name], index) =>
    assert.deepEqual(Object.getOwnPropertyDescriptor(owner, name), native[index]),
  )
  t.after(() =>
    PARTS.forEach(([owner, name], index) =>
      Object.defineProperty(owner, name, native[index] ?? assert.fail(name)),
    ),
  )
  for (const [owner, name] of PARTS) Reflect.deleteProperty(owner, name)
  installPolyfills()
  PARTS.forEach(([owner, name], index) => {
    const installed = Object.getOwnPropertyDescriptor(owner, name)
    assert.notEqual(installed?.value, native[index]?.value)
    assert.equal(installed?.enumerable, false)
  })
  for (const [text, isWellFormed] of [
    ['', true],
    ['aé汉😀', true],
    ['\ud83d\ude00', true],
    ['\ud83d', false],
    ['\ude00', false],
    ['a\ude00\ud83db', false],
    ['😀\ud83d', false],
  ] as const)
    assert.equal(text.isWellFormed(), isWellFormed, JSON.stringify(text))
  const unsorted = ['b', 'a', 'c']
  assert.deepEqual(unsorted.toSorted(), ['a', 'b', 'c'])
  assert.deepEqual(unsorted, ['b', 'a', 'c'])
  const { promise, resolve } = Promise.withResolvers<number>()
  resolve(1)
  assert.equal(await promise, 1)
  const failing = Promise.withResolvers<number>()
  failing.reject(new Error('no'))
  await assert.rejects(failing.promise, /no/)
})
