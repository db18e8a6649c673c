import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listeningHost, namesOrigin, targetOf } from '../src/http-target.ts'

test('a request for headers alone has the target of the request for the whole', () => {
  assert.deepEqual(targetOf({ method: 'HEAD', url: '/a?b=/c?d' }), { method: 'GET', path: '/a' })
  assert.deepEqual(targetOf({ method: 'POST', url: '/a/' }), { method: 'POST', path: '/a/' })
  assert.deepEqual(targetOf({}), { method: undefined, path: '' })
})

test('a Host header names an origin in any case, and with the port that it may leave out', () => {
  for (const [host, origin, isNamed] of [
    ['bank.example', 'https://bank.example', true],
    ['BANK.example:443', 'https://bank.example', true],
    ['bank.example:80', 'https://bank.example', false],
    ['bank.example:80', 'http://bank.example', true],
    ['bank.example:443', 'http://bank.example', false],
    ['bank.example:8443', 'https://bank.example:8443', true],
    ['bank.example', 'https://bank.example:8443', false],
    ['evil.example', 'https://bank.example', false],
    ['bank.example.evil.example', 'https://bank.example', false],
    [undefined, 'https://bank.example', false],
  ] as const)
    assert.equal(namesOrigin({ headers: { host } }, origin), isNamed, `${host} ${origin}`)
})

test('the service listens at one address of a name, and at all for an unspecified one', () => {
  for (const [host, listened] of [
    ['localhost', '127.0.0.1'],
    ['::', ''],
    ['0.0.0.0', '0.0.0.0'],
    ['127.0.0.1', '127.0.0.1'],
    ['::1', '::1'],
    ['bank.example', 'bank.example'],
  ] as const)
    assert.equal(listeningHost(host), listened)
})
