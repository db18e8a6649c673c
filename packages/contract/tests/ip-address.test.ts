import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { test } from 'node:test'
import { fc } from '../../../tests/random.ts'
import { canonicalIpAddress, siteNetworkOf } from '../src/index.ts'

const canonical: readonly (readonly [text: string, canonical: string])[] = [
  ['192.0.2.1', '192.0.2.1'],
  ['0.0.0.0', '0.0.0.0'],
  ['255.255.255.255', '255.255.255.255'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:c000:0201', '192.0.2.1'],
  ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
  ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
  ['2001:0db8::0001', '2001:db8::1'],
  ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
  ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
  ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
  ['::', '::'],
  ['::1', '::1'],
  ['64:ff9b::192.0.2.1', '64:ff9b::c000:201'],
]

for (const [text, expected] of canonical) {
  test(`${text} has the canonical form ${expected}`, () => {
    assert.equal(canonicalIpAddress(text), expected)
  })
}

test('rejects a text that is not exactly one address', () => {
  const shapes = [
    '1 1.2.3 1.2.3.4.5 256.0.0.1 01.2.3.4 1.2.3.04 0x7f.0.0.1 127.1 .1.2.3 1..2.3',
    '1.2.3.4:80 1.2.3.0/24 localhost [::1] ::1%eth0 ::1/64 : ::: 1::2::3 ::1:: 12345:: g::',
    '1:2:3:4:5:6:7 1:2:3:4:5:6:7:8:9 1:2:3:4:5:6:7:8:: ::1:2:3:4:5:6:7:8 :1:: 1::2:',
    '192.0.2.1:: ::192.0.2.1:1 1.2.3.4:1:: ::ffff:192.0.2.256',
  ]
  const wrong = ['', ' ', '1.2.3.4 ', ...shapes.join(' ').split(' ')]
  for (const text of wrong) {
    assert.equal(canonicalIpAddress(text), undefined, text)
    assert.equal(siteNetworkOf(text), undefined, text)
  }
})

test('accepts the same addresses as Node, in a stable canonical form', () => {
  const text = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.string({ unit: fc.constantFrom(...Array.from('0123456789abcdefF:.')), maxLength: 24 }),
  )
  fc.assert(
    fc.property(text, (address) => {
      const form = canonicalIpAddress(address)
      assert.equal(form !== undefined, isIP(address) !== 0, address)
      if (form === undefined) return
      assert.equal(canonicalIpAddress(form), form)
      if (isIP(form) === 6) assert.equal(new URL(`http://[${address}]`).hostname, `[${form}]`)
    }),
    { numRuns: 2_000 },
  )
})

test('addresses of one site share a network, others do not', () => {
  assert.equal(siteNetworkOf('192.0.2.255'), '192.0.2.0/24')
  assert.equal(siteNetworkOf('::ffff:192.0.2.3'), '192.0.2.0/24')
  assert.equal(siteNetworkOf('192.0.3.1'), '192.0.3.0/24')
  assert.equal(siteNetworkOf('2001:db8:1:ffff::9'), '2001:db8:1::/48')
  assert.equal(siteNetworkOf('2001:db8:0:ffff::9'), '2001:db8::/48')
  assert.equal(siteNetworkOf('2001:db8:2::'), '2001:db8:2::/48')
})
