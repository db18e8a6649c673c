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

test('rejects an SVG that loads a resource by another function or instruction', () => {
  for (const bytes of [
    Buffer.from('<?xml-stylesheet href="//x.example/a.css"?><svg></svg>'),
    Buffer.from('<?xml version="1.0"?><?xml-stylesheet href="data:text/css,x"?><svg></svg>'),
    Buffer.from('<?xml version="1.0" encoding="utf-16"?><svg></svg>'),
    Buffer.from('<?xml version="1.0" encoding="utf-7"?><svg></svg>'),
    svg('<?php x ?>'),
    svg(`<path fill="image-set('https://x.example/a' 1x)"/>`),
    svg(`<path style="mask:image-set('https://x.example/a' 1x)"/>`),
    svg(`<path style="mask:-webkit-image-set('//x' 1x)"/>`),
    svg(`<path style="mask:cross-fade('//x', red)"/>`),
    svg(`<path style="mask:src('//x')"/>`),
    svg('<path style="fill:var(--x)"/>'),
    svg('<path style="fill:url (//x)"/>'),
    svg('<path style="fill:URL(//x)"/>'),
    svg('<path style="fill:url(/**/#a)"/>'),
    svg('<path style="background:#fff"/>'),
    svg('<path style="cursor:url(#a)"/>'),
    svg('<path style="fill:red}*{fill:blue"/>'),
    svg('<path fill="url(#a) url(//x)"/>'),
    svg('<use href="#a" xlink:href="//x"/>'),
    svg('<use xlink:href="x.svg#b"/>'),
    svg('<use\thref\n=\n"//x"/>'),
    svg('<g xml:base="https://x.example/"/>'),
    svg('<g xmlns="http://www.w3.org/1999/xhtml"/>'),
    svg('<g xmlns:h="http://www.w3.org/1999/xhtml"/>'),
    svg('<path filter="url(#a)"/>'),
    svg('<path stroke-dasharray="0.00001"/>'),
    svg('<path begin="0s"/>'),
    svg('<path ping="//x"/>'),
  ])
    assert.ok(problem(bytes), bytes.toString())
})

test('rejects an SVG whose references multiply what a browser draws', () => {
  const laughs = (wrap: (id: string, inside: string) => string, refer: (id: string) => string) => {
    const levels = Array.from({ length: 8 }, (_, level) =>
      wrap(`l${level + 1}`, refer(`l${level}`).repeat(10)),
    )
    return svg(`<defs><path id="l0"/>${levels.join('')}</defs>${refer('l8')}`)
  }
  const group = (id: string, inside: string) => `<g id="${id}">${inside}</g>`
  for (const bytes of [
    laughs(group, (id) => `<use href="#${id}"/>`),
    laughs(group, (id) => `<use xlink:href="#${id}"/>`),
    laughs(
      (id, inside) => `<symbol id="${id}">${inside}</symbol>`,
      (id) => `<use href="#${id}"/>`,
    ),
    laughs(
      (id, inside) => `<mask id="${id}">${inside}</mask>`,
      (id) => `<g mask="url(#${id})"/>`,
    ),
    laughs(
      (id, inside) => `<clipPath id="${id}">${inside}</clipPath>`,
      (id) => `<g style="clip-path: url('#${id}')"/>`,
    ),
    svg('<g id="a"><use href="#a"/></g>'),
    svg('<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>'),
    svg('<mask id="a" mask="url(#a)"/>'),
    svg('<g id="a"/><g id="a"><use href="#a"/></g>'),
    svg('<g>'.repeat(200) + '</g>'.repeat(200)),
  ])
    assert.ok(problem(bytes), bytes.toString().slice(0, 200))
})

test('rejects an SVG that is not well-formed, which browsers read in different ways', () => {
  for (const inside of [
    '<path',
    '<path d="M0 0/>',
    '<path d=M0/>',
    '<path d="a" d="b"/>',
    '<path d="a"fill="b"/>',
    '<g></path>',
    '</g>',
    '<g>',
    '<path d="<"/>',
    '<!-- a -- b -->',
    '<!-->',
    '< path/>',
    '<path / >',
    '<svg:path/>',
    '<path a:b="c"/>',
  ])
    assert.ok(problem(svg(inside)), inside)
})

test('accepts the SVG that drawing programs save as plain SVG', () => {
  for (const drawing of [
    svg('<title>Shop &#8212;</title>'.replace(' &#8212;', '')),
    svg(
      '<use id="u" xlink:href="#p" x="1" transform="translate(1 2) rotate(45)"/><path id="p" d="M0,0 h8v8H0z" style="fill:#123456; fill-opacity: .5;stroke:none"/>',
    ),
    svg(
      '<clipPath id="c"><rect width="8" height="8" rx="1.5"/></clipPath><g clip-path="url(#c)"><circle cx="4" cy="4" r="4" fill="rgb(1, 2, 3)"/></g>',
    ),
    svg(
      `<linearGradient id="g" x1="0%" y1="0%" x2="100%" y2="0%" gradientUnits="userSpaceOnUse" gradientTransform="matrix(1 0 0 1 0 0)"><stop offset="0%" stop-color="#fff" stop-opacity="0.5"/></linearGradient><polygon points="0,0 8,0 8,8" fill='url("#g")'/>`,
    ),
    svg(
      '<g fill="none" stroke="#000" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" stroke-miterlimit="4" fill-rule="evenodd"><path d="M1 1e-3 1.5E2 0"/></g>',
      ' width="8px" height="8" version="1.1" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" aria-label="Shop" fill="none" xml:space="preserve"',
    ),
    Buffer.from(
      '\ufeff<?xml version="1.0" encoding="utf-8" standalone="no"?>\r\n<!-- Generator -->\r\n<svg></svg>\r\n<!-- end -->',
    ),
  ])
    assert.equal(problem(drawing), undefined, drawing.toString())
})

test('reads files that make a careless parser search without end', () => {
  const nested = '<use href="#a"/>'.repeat(1_900)
  const many = '<path d="M0 0"/>'.repeat(1_900)
  for (const bytes of [
    svg(`<path id="a"/>${nested}`),
    svg(many),
    svg(`<path d="${'('.repeat(30_000)}"/>`),
    svg(`<path style="${'a:'.repeat(15_000)}"/>`),
    svg(`<path ${' '.repeat(30_000)}`),
    svg(`<!--${'-'.repeat(30_000)}`),
    svg('<g a="'.repeat(5_000)),
  ])
    assert.equal(typeof readLogo(bytes), 'object', bytes.toString().slice(0, 100))
})
