import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readExtensions } from '../../src/apple/extensions.ts'

const CATEGORY = 'apple_validation_category_01'
const BUNDLE_VERSION = 'apple_bundle_version_01'

/** A CBOR text of up to 255 bytes. */
const text = (value: string) =>
  value.length < 24
    ? Buffer.concat([Buffer.of(0x60 + value.length), Buffer.from(value)])
    : Buffer.concat([Buffer.of(0x78, value.length), Buffer.from(value)])
const hex = (value: string) => Buffer.from(value, 'hex')
const mapOf = (...members: readonly (readonly [key: Buffer, value: Buffer])[]) =>
  Buffer.concat([Buffer.of(0xa0 + members.length), ...members.flat()])
const category = (value: string) => mapOf([text(CATEGORY), hex(value)])

test('reads a category as four little-endian bytes or as an unsigned integer of 32 bits', () => {
  for (const [value, read] of [
    ['4404000000', 4],
    ['00', 0],
    ['04', 4],
    ['1affffffff', 0xffff_ffff],
  ] as const)
    assert.deepEqual(readExtensions(category(value)), { category: read, bundleVersion: undefined })
  for (const value of ['43040000', '450400000000', '20', '1b0000000100000000', '6134', 'f6'])
    assert.equal(readExtensions(category(value)), undefined, value)
})

test('reads a bundle version of at most 128 characters', () => {
  const version = (length: number) => mapOf([text(BUNDLE_VERSION), text('1'.repeat(length))])
  assert.equal(readExtensions(version(128))?.bundleVersion?.length, 128)
  assert.equal(readExtensions(version(129)), undefined)
  assert.equal(readExtensions(mapOf([text(BUNDLE_VERSION), hex('01')])), undefined)
})

test('reads at most 1,024 bytes', () => {
  const filled = (bytes: number) => {
    const value = Buffer.concat([
      hex('59'),
      Buffer.of(bytes >> 8, bytes & 0xff),
      Buffer.alloc(bytes),
    ])
    return mapOf([hex('01'), value])
  }
  assert.equal(filled(1_019).length, 1_024)
  assert.ok(readExtensions(filled(1_019)))
  assert.equal(readExtensions(filled(1_020)), undefined)
})

test('skips unknown members, whatever the type of their key and value', () => {
  for (const [key, value] of [
    [hex('01'), hex('f93c00')],
    [hex('20'), hex('c101')],
    [hex('c16161'), hex('5f4100ff')],
    [hex('820102'), hex('01')],
    [text('apple_something_else_of_ios_28'), hex('f93c00')],
  ] as const)
    assert.deepEqual(readExtensions(mapOf([key, value], [text(CATEGORY), hex('04')])), {
      category: 4,
      bundleVersion: undefined,
    })
})

test('rejects a known name in another encoding', () => {
  for (const name of [CATEGORY, BUNDLE_VERSION])
    for (const key of [
      Buffer.concat([hex('c1'), text(name)]),
      Buffer.concat([hex('81'), text(name)]),
      Buffer.concat([Buffer.of(0x58, name.length), Buffer.from(name)]),
      Buffer.concat([Buffer.of(0x79, 0, name.length), Buffer.from(name)]),
      Buffer.concat([hex('7f'), text(name), hex('ff')]),
      Buffer.concat([hex('7f6161'), text(name.slice(1)), hex('ff')]),
    ])
      assert.equal(readExtensions(mapOf([key, hex('04')])), undefined, key.toString('hex'))
})
