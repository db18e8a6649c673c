import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PushKey } from '@bonded/core/ports/push'
import { parsePushHosts, pushTransport } from '../../../src/adapters/push/push-transport.ts'
import { keyringOf } from '../../../src/adapters/keys/keyring.ts'
import { TestClock } from '../../../../../tests/harness/test-clock.ts'

const NEVER = new AbortController().signal
const keys = keyringOf([{ id: 'k1', bytes: Buffer.alloc(32, 1) }])
const key = keys.pushKeys.open(keys.pushKeys.create())?.key as PushKey

/** Sends a message, and returns the result with the addresses that it tried to reach. */
async function send(endpoint: string, addresses: readonly string[], hosts: readonly string[] = []) {
  const reached: string[] = []
  const transport = pushTransport({
    clock: new TestClock(),
    hosts,
    resolve: async () => addresses,
    connect: (options) => {
      reached.push(`${options.host}:${options.port}`)
      throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    },
  })
  const result = await transport.send({ endpoint, key, contact: 'https://a.example' }, NEVER)
  return [result, reached]
}

test('connects to the checked address of a known push service, at port 443', async () => {
  const [result, reached] = await send('https://fcm.googleapis.com/a', ['93.184.215.14'])
  assert.deepEqual(result, { error: 'not_reachable' })
  assert.deepEqual(reached, ['93.184.215.14:443'])
})

test('connects to no known name with an address inside the network of the operator', async () => {
  for (const address of ['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1', 'fd00::1'])
    assert.deepEqual(await send('https://fcm.googleapis.com/a', ['93.184.215.14', address]), [
      { error: 'address_rejected' },
      [],
    ])
})

test('connects to no host that was removed from the list after the phone subscribed', async () => {
  const endpoint = 'https://push.bank.example/a'
  const rejected = [{ error: 'address_rejected' }, []]
  assert.deepEqual(await send(endpoint, ['93.184.215.14']), rejected)
  for (const hosts of [['push.bank.example'], ['*.bank.example']]) {
    const [result] = await send(endpoint, ['93.184.215.14'], hosts)
    assert.deepEqual(result, { error: 'not_reachable' })
    // A host of the operator may be no more than another one.
    assert.deepEqual(await send(endpoint, ['10.0.0.1'], hosts), rejected)
    assert.deepEqual(await send('https://push.bank.example:8443/a', [], hosts), rejected)
  }
})

test('the setting takes names of hosts, and neither addresses nor ports', () => {
  assert.deepEqual(parsePushHosts(''), [])
  assert.deepEqual(parsePushHosts('push.a.example, *.B.example'), ['push.a.example', '*.b.example'])
  for (const text of [
    '10.0.0.1',
    '[::1]',
    'a.example:443',
    'https://a.example',
    '*',
    '*.',
    'a',
    ',',
  ])
    assert.equal(parsePushHosts(text), undefined)
})
