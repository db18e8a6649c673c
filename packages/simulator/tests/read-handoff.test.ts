import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { encodeBase62, parseHandoff } from '@bonded/contract'
import { fc } from '../../../tests/random.ts'
import { PNG } from 'pngjs'
import { encodeQR } from 'qr'
import { PhoneError } from '../../phone/src/index.ts'
import { readHandoff } from '../src/index.ts'
import { rasterizeSvg } from '../src/svg-raster.ts'
import { fakeService } from '../../phone/tests/fake-service.ts'
import { runsSvg, screenshot } from './pictures.ts'

const { payload, link } = fakeService()
const anyHandoff = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => {
  const nonce = createHash('sha256').update(bytes).digest('base64url')
  return `session_id=sess_${encodeBase62(bytes, 22)}&nonce=${nonce}`
})

test('reads a payload and a link as text, as bytes and with surrounding whitespace', () => {
  for (const text of [payload, link]) {
    const expected = parseHandoff(text)
    assert.ok(expected)
    for (const input of [text, ` ${text}\n`, Buffer.from(text)])
      assert.deepEqual(readHandoff(input), expected)
  }
})

test('reads a screenshot in several sizes and colors', () => {
  for (const look of [
    {},
    { scale: 2 },
    { scale: 9 },
    { ink: [20, 20, 60], paper: [235, 235, 235] },
  ])
    assert.deepEqual(readHandoff(screenshot(payload, look)), parseHandoff(payload))
})

test('reads any handoff from the SVG of the service', () => {
  fc.assert(
    fc.property(
      anyHandoff,
      fc.constantFrom('pulse://bond?', 'https://bond.example/bond?', 'http://localhost:8787/bond?'),
      (query, start) => {
        assert.deepEqual(readHandoff(runsSvg(start + query)), parseHandoff(start + query))
      },
    ),
    { numRuns: 10 },
  )
})

test('reads any handoff from a PNG', () => {
  fc.assert(
    fc.property(anyHandoff, (query) =>
      assert.deepEqual(
        readHandoff(screenshot(`pulse://bond?${query}`)),
        parseHandoff(`pulse://bond?${query}`),
      ),
    ),
    { numRuns: 10 },
  )
})

test('reads the SVG of other QR encoders: squares, runs and rectangles, absolute and relative', () => {
  const expected = parseHandoff(payload)
  for (const svg of [
    encodeQR(payload, 'svg', { border: 4 }),
    encodeQR(payload, 'svg', { border: 4, optimize: false }),
    `<?xml version="1.0"?>\n${runsSvg(link)}`,
  ]) {
    assert.equal(readHandoff(svg).nonce, expected?.nonce)
  }
})

test('rejects an input without a session, and names the reason', () => {
  const white = PNG.sync.write(new PNG({ width: 300, height: 300 }))
  for (const [input, reason] of [
    ['hello', 'not_a_bond'],
    [screenshot('https://example.com'), 'not_a_bond'],
    [white, 'no_code'],
    ['<svg viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg>', 'no_code'],
    ['<svg viewBox="0 0 9 9"><path d="M0 0C1 1 2 2 3 3"/></svg>', 'not_an_image'],
    ['<svg viewBox="0 0 1e9 1"><path d="M0 0h1"/></svg>', 'not_an_image'],
    [white.subarray(0, 40), 'not_an_image'],
  ] as const) {
    assert.throws(
      () => readHandoff(input),
      (error) =>
        error instanceof PhoneError &&
        error.code === 'handoff_unreadable' &&
        error.reason === reason,
      reason,
    )
  }
})

test('rejects a PNG with a huge declared size before it is unpacked', () => {
  const bomb = Buffer.from(screenshot(payload))
  bomb.writeUInt32BE(0x7fff_ffff, 16)
  assert.throws(() => readHandoff(bomb), { code: 'handoff_unreadable', reason: 'not_an_image' })
})

test('returns from the SVG reader for any text', () => {
  fc.assert(
    fc.property(
      fc.string(),
      (d) => void rasterizeSvg(`<svg viewBox="0 0 9 9"><path d="${d}"/></svg>`),
    ),
  )
  const commands = fc.array(
    fc.tuple(fc.constantFrom(...'MmLlHhVvZzq'.split('')), fc.array(fc.float(), { maxLength: 4 })),
    { maxLength: 9 },
  )
  fc.assert(
    fc.property(
      commands,
      (path) =>
        void rasterizeSvg(`<svg viewBox="0 0 9 9"><path d="${path.flat(2).join(' ')}"/></svg>`),
    ),
    { numRuns: 50 },
  )
})
