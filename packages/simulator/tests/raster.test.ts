import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rasterizeSvg } from '../src/svg-raster.ts'

test('a drawing is filled where its shapes are, in their order and their color', () => {
  /** The color at the middle of each of 4 by 4 fields: `#` for black. */
  const drawn = (body: string, box = 'viewBox="0 0 4 4"') => {
    const raster = rasterizeSvg(`<svg ${box}>${body}</svg>`)
    if (raster === undefined) return undefined
    const { width, height, luma } = raster
    return [0, 1, 2, 3]
      .map((row) =>
        [0, 1, 2, 3]
          .map((column) => {
            const [x, y] = [((column + 0.5) * width) / 4, ((row + 0.5) * height) / 4]
            return luma[Math.floor(y) * width + Math.floor(x)] === 0 ? '#' : '.'
          })
          .join(''),
      )
      .join(' ')
  }
  for (const [body, expected] of [
    ['<rect x="1" y="2" width="2" height="1"/>', '.... .... .##. ....'],
    ['<rect width="50%" height="25%" x="50%" y="75%"/>', '.... .... .... ..##'],
    [
      '<rect width="4" height="4"/><rect fill="#FFF" x="1" y="1" width="1" height="1"/>',
      '#### #.## #### ####',
    ],
    ['<rect width="4" height="1" fill="none"/>', '.... .... .... ....'],
    [
      '<rect width="4" height="1" style="opacity:1;fill: rgb(255, 255, 255)"/>',
      '.... .... .... ....',
    ],
    ['<path d="M1 0H3V2H1Z"/>', '.##. .##. .... ....'],
    ['<path d="m1 0h2v2h-2zm1 2h1v1h-1z"/>', '.##. .##. ..#. ....'],
    ['<path d="M0 3 4 3 4 4 0 4z"/>', '.... .... .... ####'],
    ['<path d="m0 3 4 0 0 1 -4 0z"/>', '.... .... .... ####'],
    ['<path d="M0 0L4 0L4 4L0 4ZM1 1V3H3V1Z"/>', '#### #..# #..# ####'],
    ['<path d="M0 0H4V4H0ZM1 1H3V3H1Z"/>', '#### #### #### ####'],
    ['<path d="M0 0C1 1 2 2 3 3"/>', undefined],
    ['<path d="M0 0H"/>', undefined],
    ['', undefined],
  ] as const)
    assert.equal(drawn(body), expected, body)
  const rect = '<rect x="3" y="11" width="1" height="1"/>'
  assert.equal(drawn(rect, 'viewBox="2 10 4 4"'), '.... .#.. .... ....')
  assert.equal(
    drawn('<rect x="3" width="1" height="4"/>', 'width="4" height="4"'),
    '...# ...# ...# ...#',
  )
  for (const box of [
    '',
    'viewBox="0 0 4 0"',
    'viewBox="0 0 4 1"',
    'viewBox="0 0 1 4"',
    'width="x"',
  ])
    assert.equal(drawn(rect, box), undefined, box)
  assert.deepEqual(
    [rasterizeSvg(`<svg viewBox="0 0 4 2">${rect}</svg>`)].map((r) => [r?.width, r?.height]),
    [[600, 300]],
  )
})
