import assert from 'node:assert/strict'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { mock, test } from 'node:test'
import { inheritedSocket } from '../../src/node/inherited-socket.ts'
import { ConfigError } from '../../../server/src/settings/config.ts'

/** Every spelling but this one is rejected: systemd writes the number so. */
const ONE = '1'
const OTHERS = ['', '0', '2', '3', '10', '11', '-1', '+1', '01', '1.0', '1.5', '1e0', '0x1']
const NO_NUMBERS = ['one', 'true', 'NaN', 'Infinity', ' 1', '1 ', '1,1', '1:2']

type Kind = 'socket' | 'file' | 'closed'

/** Runs `work` in a process whose descriptors are sockets, other files, or closed. */
function withDescriptor(kind: Kind, work: (asked: readonly number[]) => void): void {
  const asked: number[] = []
  const stat = mock.method(fs, 'fstatSync', (descriptor: number) => {
    asked.push(descriptor)
    if (kind === 'closed') throw Object.assign(new Error('bad file'), { code: 'EBADF' })
    return { isSocket: () => kind === 'socket' }
  })
  syncBuiltinESMExports()
  try {
    work(asked)
  } finally {
    stat.mock.restore()
    syncBuiltinESMExports()
  }
}

/** The variables that systemd sets for the process 2. */
function passed(count: string): NodeJS.ProcessEnv {
  return { LISTEN_FDS: count, LISTEN_PID: '2', LISTEN_FDNAMES: 'a', OTHER: 'kept' }
}

function rejects(env: NodeJS.ProcessEnv): void {
  const value = env.LISTEN_FDS
  assert.throws(
    () => inheritedSocket(env, 2),
    (failure) =>
      failure instanceof ConfigError &&
      failure.mistakes.length === 1 &&
      failure.mistakes[0]?.setting === 'LISTEN_FDS' &&
      failure.mistakes[0].value === value &&
      /LISTEN_FDS: .*Expected one open socket/.test(failure.message),
    `LISTEN_FDS=${String(value)}`,
  )
  assert.deepEqual(env, { OTHER: 'kept' })
}

test('without a socket for this process, the service opens its own', () => {
  assert.equal(inheritedSocket({}), undefined)
  withDescriptor('socket', () => {
    // They are for another process, which may be a child of this one.
    for (const pid of ['1', '22', '02', '2 ', '', 'two']) {
      const env = { LISTEN_FDS: '1', LISTEN_PID: pid }
      assert.equal(inheritedSocket(env, 2), undefined, pid)
      assert.deepEqual(env, { LISTEN_FDS: '1', LISTEN_PID: pid })
    }
    assert.equal(inheritedSocket({ LISTEN_FDS: '1' }, 2), undefined)
    assert.equal(inheritedSocket({ LISTEN_PID: '2' }, 2), undefined)
  })
})

test('takes the one socket that it has inherited, and leaves no variable of it', () => {
  withDescriptor('socket', (asked) => {
    const env = passed(ONE)
    assert.equal(inheritedSocket(env, 2), 3)
    assert.deepEqual(asked, [3])
    assert.deepEqual(env, { OTHER: 'kept' })
  })
})

test('rejects every number of sockets but one, also while the first is open', () => {
  for (const kind of ['socket', 'file', 'closed'] as const)
    withDescriptor(kind, () => {
      for (const count of [...OTHERS, ...NO_NUMBERS]) rejects(passed(count))
    })
})

test('rejects a descriptor that is closed, or not a socket', () => {
  for (const kind of ['file', 'closed'] as const) withDescriptor(kind, () => rejects(passed(ONE)))
})
