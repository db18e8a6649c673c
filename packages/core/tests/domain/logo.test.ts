import assert from 'node:assert/strict'
import { test } from 'node:test'
import { png, pngChunk } from '../../../../tests/png.ts'
import { CONVERT_SVG, MAX_LOGO_BYTES, problemOfLogo } from '../../src/domain/logo.ts'

test('accepts a still PNG', () => {
  assert.equal(problemOfLogo(png()), undefined)
  assert.equal(problemOfLogo(png(1_024, 1, pngChunk('bKGD', new Uint8Array(6)))), undefined)
})

test('rejects a PNG that is animated, incomplete, too large, or has other chunks', () => {
  for (const bytes of [
    png(8, 8, pngChunk('acTL')),
    png(8, 8, pngChunk('tEXt')),
    png(8, 8, pngChunk('eXIf')),
    png().subarray(0, -1),
    Buffer.concat([png(), Buffer.from('<script>')]),
    png(1_025, 1),
    Buffer.concat([png().subarray(0, 8), Buffer.from('ffffffff49484452', 'hex'), Buffer.alloc(20)]),
    png().subarray(0, 8),
    Buffer.alloc(MAX_LOGO_BYTES + 1, png()),
  ])
    assert.ok(problemOfLogo(bytes), bytes.subarray(0, 60).toString('latin1'))
})

test('rejects every other file, and names a program that converts an SVG', () => {
  for (const text of ['<svg xmlns="http://www.w3.org/2000/svg"></svg>', 'GIF89a', ''])
    assert.ok(problemOfLogo(Buffer.from(text))?.includes(CONVERT_SVG), text)
})
