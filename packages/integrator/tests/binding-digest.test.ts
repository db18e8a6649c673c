import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { fc } from '../../../tests/random.ts'
import { bindingDigest } from '../src/index.ts'

test('the digest is the base64url SHA-256 of the canonical JSON', async () => {
  const expected = createHash('sha256').update('{"amount":12500,"term":36}').digest('base64url')
  assert.equal(await bindingDigest({ term: 36, amount: 12500 }), expected)
})

/** A value of a form: what JSON holds, without integers beyond 2^53. */
const formValue = fc
  .jsonValue()
  .filter((value) => !/\d{16}|e\+/.test(JSON.stringify(value).replaceAll(/"(?:\\.|[^"])*"/g, '')))

test('the order of members does not matter, any value does', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.string({ unit: 'grapheme' }), formValue, { noNullPrototype: true }),
      async (record) => {
        const reversed = Object.fromEntries(Object.entries(record).reverse())
        assert.equal(await bindingDigest(reversed), await bindingDigest(record))
        assert.notEqual(
          await bindingDigest({ record, more: 1 }),
          await bindingDigest({ record, more: 2 }),
        )
      },
    ),
  )
})

test('rejects values that JSON cannot represent', async () => {
  for (const value of [undefined, Number.NaN, new Date(0), '\ud800', 1n]) {
    await assert.rejects(bindingDigest({ value }), { code: 'not_canonical' })
  }
})

/** Defines `toJSON` for the time of a call, as a vulnerable library could. */
async function withToJson(prototype: object, enumerable: boolean, act: () => Promise<void>) {
  const toJSON = () => ({ amount: 1 })
  Object.defineProperty(prototype, 'toJSON', { value: toJSON, configurable: true, enumerable })
  try {
    await act()
  } finally {
    Reflect.deleteProperty(prototype, 'toJSON')
  }
}

test('rejects a record with a toJSON of its own, on any level, seen by a loop or not', async () => {
  for (const enumerable of [true, false])
    for (const record of [{ amount: 9_500 }, [9_500], { form: { amount: 9_500 } }, { list: [1] }])
      for (const target of [record, ...Object.values(record)].filter(
        (value) => typeof value === 'object',
      ))
        await withToJson(target, enumerable, async () => {
          await assert.rejects(bindingDigest(record), { code: 'not_canonical' })
        })
})

test('rejects every record while a prototype has a toJSON', async () => {
  for (const prototype of [Object.prototype, Array.prototype])
    for (const enumerable of [true, false])
      await withToJson(prototype, enumerable, async () => {
        for (const record of [{ items: [{ amount: 1 }] }, { z: [1], a: [2] }, [[]]])
          await assert.rejects(bindingDigest(record), { code: 'not_canonical' })
      })
})

test('accepts a member named toJSON that is data', async () => {
  assert.notEqual(await bindingDigest({ toJSON: 1 }), await bindingDigest({ toJSON: 2 }))
})

test('rejects integers that JavaScript cannot tell apart', async () => {
  assert.equal(2 ** 53 === 2 ** 53 + 1, true)
  for (const value of [2 ** 53, -(2 ** 53), 1e21, Number.MAX_VALUE])
    for (const record of [{ value }, { list: [{ value }] }, { z: value, a: 1 }, [value]])
      await assert.rejects(bindingDigest(record), { code: 'not_canonical', message: /string/ })
  for (const value of [2 ** 53 - 1, -(2 ** 53) + 1, 0.1, -0, 12_500.5])
    assert.equal((await bindingDigest({ value })).length, 43)
})
