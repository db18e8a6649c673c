import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  bareAddress,
  clientAddress,
  parseTrustedProxies,
} from '../../../src/http/connection/client-address.ts'

const from = (remoteAddress: string, forwarded: string | undefined, setting: string) =>
  clientAddress(
    {
      socket: { remoteAddress },
      headers: { 'x-forwarded-for': forwarded },
    },
    parseTrustedProxies(setting) ?? 0,
  )

test('removes port, brackets and zone from an address', () => {
  for (const address of ['[2001:db8::5]:443', '[2001:db8::5]', '2001:db8::5%eth0', '2001:db8::5'])
    assert.equal(bareAddress(address), '2001:db8::5', address)
  assert.equal(bareAddress(' 192.0.2.1:8080 '), '192.0.2.1')
})

test('treats an IPv4 address written as IPv6 as IPv4, in dotted and in hexadecimal form', () => {
  for (const address of [
    '::ffff:10.0.0.1',
    '::FFFF:10.0.0.1',
    '::ffff:0a00:1',
    '::ffff:a00:1',
    '0:0:0:0:0:ffff:0a00:0001',
    '0000:0000:0000:0000:0000:ffff:10.0.0.1',
    '[::ffff:a00:1]:443',
  ]) {
    assert.equal(bareAddress(address), '10.0.0.1', address)
    assert.equal(from(address, '192.0.2.1', '10.0.0.0/8'), '192.0.2.1', address)
  }
})

test('reads X-Forwarded-For from its end, past trusted proxies and no further', () => {
  assert.equal(from('10.0.0.1', '192.0.2.1', '0'), '10.0.0.1')
  assert.equal(from('10.0.0.1', undefined, '2'), '10.0.0.1')
  assert.equal(from('10.0.0.1', '203.0.113.5, 192.0.2.1', '1'), '192.0.2.1')
  assert.equal(from('10.0.0.1', '203.0.113.5, 192.0.2.1', '2'), '203.0.113.5')
  assert.equal(from('10.0.0.1', '192.0.2.1', '9'), '192.0.2.1')
  assert.equal(
    from('::ffff:10.0.0.1', '203.0.113.5, 192.0.2.1, 10.0.0.2', '10.0.0.0/8'),
    '192.0.2.1',
  )
  assert.equal(from('192.0.2.9', '203.0.113.5', '10.0.0.0/8'), '192.0.2.9')
  assert.equal(from('fd00::1', '2001:db8::7', 'fd00::/8, 10.0.0.1'), '2001:db8::7')
})

test('ignores an entry of X-Forwarded-For that is not an address', () => {
  for (const junk of [
    'unknown',
    '',
    'for=192.0.2.1',
    '192.0.2.1, ',
    '300.1.1.1',
    '192.0.2.1, _hidden',
  ])
    assert.equal(from('10.0.0.1', junk, '10.0.0.1'), '10.0.0.1', junk)
})

test('accepts a number of proxies or a list of addresses and ranges as BONDED_TRUST_PROXY', () => {
  for (const setting of ['0', '1', '9', '10.0.0.1', '10.0.0.0/8, ::1', 'fd00::/8'])
    assert.notEqual(parseTrustedProxies(setting), undefined, setting)
  for (const setting of [
    '',
    'on',
    'true',
    '10',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    'localhost',
    '10.0.0.1,',
    '::1/129',
  ])
    assert.equal(parseTrustedProxies(setting), undefined, setting)
})
