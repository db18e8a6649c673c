import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { clientNetwork, networkOf, parseTrustedProxies } from '../../src/http/client-address.ts'

const from = (remoteAddress: string, forwarded: string | undefined, setting: string) =>
  clientNetwork(
    {
      socket: { remoteAddress },
      headers: { 'x-forwarded-for': forwarded },
    } as unknown as IncomingMessage,
    parseTrustedProxies(setting) ?? 0,
  )

test('an IPv6 address counts as its /64, however it is written; an IPv4 address as itself', () => {
  for (const address of [
    '2001:db8:0:1::5',
    '2001:0DB8:0000:0001:ffff:0:0:9',
    '2001:db8:0:1:2:3:4:5',
    '[2001:db8:0:1::5]:443',
    '2001:db8:0:1::192.0.2.1%eth0',
  ])
    assert.equal(networkOf(address), '2001:db8:0:1::/64', address)
  assert.equal(networkOf('::1'), '0:0:0:0::/64')
  assert.equal(networkOf('fe80::'), 'fe80:0:0:0::/64')
  for (const address of ['192.0.2.1', '::ffff:192.0.2.1', '::FFFF:192.0.2.1', '192.0.2.1:8080'])
    assert.equal(networkOf(address), '192.0.2.1', address)
})

test('X-Forwarded-For is read from its end, past proxies that are trusted and no further', () => {
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
  assert.equal(from('fd00::1', '2001:db8::7', 'fd00::/8, 10.0.0.1'), '2001:db8:0:0::/64')
})

test('what is no address in X-Forwarded-For is not believed, whoever wrote it', () => {
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

test('the setting takes a number of proxies, or addresses and ranges, and nothing else', () => {
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
