import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networksOf } from '../../src/domain/network.ts'

const keysOf = (address: string) => networksOf(address).map(({ key }) => key)

test('counts an IPv6 address for its /64, /56 and /48, in every spelling of the address', () => {
  for (const address of [
    '2001:db8:0:1234::5',
    '2001:0DB8:0000:1234:ffff:0:0:9',
    '2001:db8:0:1234:2:3:4:5',
    '2001:db8:0:1234::192.0.2.1',
  ])
    assert.deepEqual(
      keysOf(address),
      ['2001:db8:0:1234::/64', '2001:db8:0:1200::/56', '2001:db8:0::/48'],
      address,
    )
  assert.deepEqual(keysOf('::1'), ['0:0:0:0::/64', '0:0:0:0::/56', '0:0:0::/48'])
  assert.deepEqual(keysOf('fe80::')[0], 'fe80:0:0:0::/64')
})

test('gives wider networks rising quotas', () => {
  assert.deepEqual(
    networksOf('2001:db8::1').map(({ quotas }) => quotas),
    [1, 2, 8],
  )
  assert.deepEqual(networksOf('192.0.2.1'), [{ key: '192.0.2.1', quotas: 1 }])
})

test('counts an IPv4 address as itself, also where it is written as IPv6', () => {
  for (const address of [
    '10.0.0.1',
    '::ffff:10.0.0.1',
    '::FFFF:a00:1',
    '::ffff:0a00:0001',
    '0:0:0:0:0:ffff:0a00:1',
  ])
    assert.deepEqual(keysOf(address), ['10.0.0.1'], address)
  assert.equal(keysOf('1::ffff:a00:1').length, 3, 'another prefix is not a mapped address')
})

test('counts a text that is not an address as a network of its own', () => {
  for (const text of ['', 'unknown', '1:2', '1::2::3', 'g::1', '1:2:3:4:5:6:7:8:9'])
    assert.deepEqual(keysOf(text), [text])
})
