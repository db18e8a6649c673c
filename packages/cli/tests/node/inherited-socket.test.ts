import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inheritedSocket } from '../../src/node/inherited-socket.ts'

test('without a socket for this process, the service opens its own', () => {
  assert.equal(inheritedSocket({}), undefined)
  const env = { LISTEN_FDS: '1', LISTEN_PID: '1' }
  assert.equal(inheritedSocket(env, 2), undefined)
  // They are for another process, which may be a child of this one.
  assert.deepEqual(env, { LISTEN_FDS: '1', LISTEN_PID: '1' })
})

test('rejects several sockets, and a closed descriptor', () => {
  for (const count of ['0', '2', 'one']) {
    const env: NodeJS.ProcessEnv = { LISTEN_FDS: count, LISTEN_PID: '2', LISTEN_FDNAMES: 'a' }
    assert.throws(() => inheritedSocket(env, 2), /LISTEN_FDS: .*Expected one open socket/)
    assert.deepEqual(env, {})
  }
})
