import assert from 'node:assert/strict'
import { test } from 'node:test'
import encodeByLibrary from 'qr'
import { encodeQr, type Modules } from '../src/qr/encode.ts'
import { penaltyOf } from '../src/qr/masks.ts'

/** Bytes that versions 1 to 20 hold at level M, from table 7 of ISO/IEC 18004. */
const CAPACITIES = [
  14, 26, 42, 62, 84, 106, 122, 152, 180, 213, 251, 287, 331, 362, 412, 450, 504, 560, 624, 666,
]
const encode = (text: string) => encodeQr(new TextEncoder().encode(text))
const MASKS = [0, 1, 2, 3, 4, 5, 6, 7] as const
const LINK = `pulse://bond?session_id=sess_${'a1B2'.repeat(6)}&nonce=`

/** The code of an independent encoder, with the same mode and level. */
function reference(text: string, options: { version?: number; mask?: number } = {}): string {
  const rows = encodeByLibrary(text, 'raw', {
    ecc: 'medium',
    encoding: 'byte',
    border: 1,
    ...options,
  })
  return JSON.stringify(rows.slice(1, -1).map((row) => row.slice(1, -1)))
}

/** The code, compared with the reference of the same version and mask. */
function drawnLikeReference(text: string): Modules {
  const modules = encode(text)
  const version = (modules.length - 17) / 4
  assert.equal(JSON.stringify(modules), reference(text, { version, mask: maskOf(modules) }))
  return modules
}

/** The mask in the format of a code: three bits, of which the standard inverts two. */
function maskOf(modules: Modules): number {
  const [high, middle, low] = modules[8]!.slice(2, 5).map(Number) as [number, number, number]
  return ((high ^ 1) << 2) | (middle << 1) | (low ^ 1)
}

function textOf(length: number): string {
  return LINK.repeat(Math.ceil(length / LINK.length)).slice(0, length)
}

test('draws every version module for module like an independent encoder', () => {
  for (const [index, capacity] of CAPACITIES.entries()) {
    assert.equal(drawnLikeReference(textOf(capacity)).length, (index + 1) * 4 + 17)
  }
})

test('takes the next version for one byte more than a version holds', () => {
  for (const [index, capacity] of CAPACITIES.slice(0, -1).entries())
    assert.equal(encode(textOf(capacity + 1)).length, (index + 2) * 4 + 17)
})

test('pads a text that is shorter than its version', () => {
  for (const length of [1, 15, 27, 123, 214]) drawnLikeReference(textOf(length))
})

test('encodes a text outside ASCII as UTF-8', () => {
  drawnLikeReference('https://bank.example/ä€🙂')
})

test('chooses the mask with the lowest penalty', () => {
  const text = textOf(120)
  const penalties = MASKS.map((mask) => penaltyOf(JSON.parse(reference(text, { mask }))))
  assert.equal(maskOf(encode(text)), penalties.indexOf(Math.min(...penalties)))
})

test('counts the penalties of the standard', () => {
  const drawing = (...rows: string[]) => rows.map((row) => Array.from(row, (bit) => bit === '1'))
  // Balanced, without runs of five and without squares of one color.
  const calm = drawing('101010', '010101', '101010', '010101', '101010', '010101')
  assert.equal(penaltyOf(calm), 0)
  const run = drawing('111110', '010101', '101010', '010101', '101010', '000101')
  assert.equal(penaltyOf(run), 3)
  const square = drawing('110010', '110101', '001010', '010101', '101010', '010101')
  assert.equal(penaltyOf(square), 3)
})

test('rejects a text whose code could not be scanned from the widget', () => {
  assert.throws(() => encode(textOf(667)), RangeError)
})
