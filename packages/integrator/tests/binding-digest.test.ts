import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { bindingDigest } from '../src/index.ts'

test('the digest is the base64url SHA-256 of the canonical JSON', async () => {
  const expected = createHash('sha256').update('{"amount":12500,"term":36}').digest('base64url')
  assert.equal(await bindingDigest({ term: 36, amount: 12500 }), expected)
})

test('the order of members does not matter, any value does', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue(), { noNullPrototype: true }),
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
