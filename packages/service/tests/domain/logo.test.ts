import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_LOGO_BYTES, readLogo } from '../../src/domain/logo.ts'

/** A chunk of a PNG without its checksum, which the service does not read. */
function chunk(type: string, data: Uint8Array = new Uint8Array()): Buffer {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  return Buffer.concat([length, Buffer.from(type), data, Buffer.alloc(4)])
}

function png(width = 8, height = 8, ...others: Buffer[]): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  const signature = Buffer.from('89504e470d0a1a0a', 'hex')
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', Buffer.alloc(9)),
    ...others,
    chunk('IEND'),
  ])
}

const svg = (inside: string, attributes = '') =>
  Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"${attributes}>${inside}</svg>`,
  )
const problem = (bytes: Uint8Array) => {
  const read = readLogo(bytes)
  return 'problem' in read ? read.problem : undefined
}

test('accepts a still PNG and an SVG that only draws', () => {
  assert.deepEqual(readLogo(png()), { type: 'png', bytes: png() })
  for (const drawing of [
    svg('<path d="M0 0h8v8H0z" fill="#123"/>'),
    svg(
      '<defs><linearGradient id="a"><stop offset="1"/></linearGradient></defs><g fill="url(#a)"><use href="#b"/></g>',
    ),
    Buffer.from(
      '<?xml version="1.0" encoding="UTF-8"?>\n<!-- made by hand -->\n<svg viewBox="0 0 1 1"></svg>\n',
    ),
  ])
    assert.equal(problem(drawing), undefined, drawing.toString())
})

test('rejects a PNG that is animated, incomplete, too large, or has other chunks', () => {
  for (const bytes of [
    png(8, 8, chunk('acTL')),
    png(8, 8, chunk('tEXt')),
    png(8, 8, chunk('eXIf')),
    png().subarray(0, -1),
    Buffer.concat([png(), Buffer.from('<script>')]),
    png(1_025, 1),
    Buffer.concat([png().subarray(0, 8), Buffer.from('ffffffff49484452', 'hex'), Buffer.alloc(20)]),
    png().subarray(0, 8),
    Buffer.alloc(MAX_LOGO_BYTES + 1, png()),
  ])
    assert.ok(problem(bytes), bytes.subarray(0, 60).toString('latin1'))
})

test('rejects an SVG that could run code, load a resource, or hide either', () => {
  for (const bytes of [
    svg('<script>alert(1)</script>'),
    svg('<SCRIPT href="#a"/>'),
    svg('<foreignObject><body/></foreignObject>'),
    svg('<style>@import "//x"</style>'),
    svg('<a href="#x"><path/></a>'),
    svg('<image href="#x"/>'),
    svg('<animate attributeName="href"/>'),
    svg('<set attributeName="onload" to="x"/>'),
    svg('<path/>', ' onload="alert(1)"'),
    svg('<path d=""onclick="alert(1)"/>'),
    svg('<path\nonclick = "alert(1)"/>'),
    svg('<use href="https://x.example/a.svg#b"/>'),
    svg('<use xlink:href=" data:image/svg+xml,x"/>'),
    svg('<use href=javascript:alert(1) />'),
    svg('<path fill="url(https://x.example/a)"/>'),
    svg('<path style="fill:url( \'//x\' )"/>'),
    svg('<path fill="u&#114;l(//x)"/>'),
    svg('<path style="fill:u\\72l(//x)"/>'),
    svg('<![CDATA[<script>]]>'),
    svg('<?xml-stylesheet href="//x"?>'),
    Buffer.from('<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg>&x;</svg>'),
    Buffer.from('<html><svg></svg></html>'),
    Buffer.from('<svg></svg><script>alert(1)</script></svg>'),
    Buffer.from([0xff, 0xfe, 0x3c, 0x00]),
    Buffer.from('GIF89a'),
    Buffer.alloc(0),
  ])
    assert.ok(problem(bytes), bytes.toString())
})
