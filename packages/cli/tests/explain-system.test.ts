import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explainSystem } from '../src/explain-system.ts'

const failure = (code: string, path?: string) =>
  Object.assign(new Error(`${code}: no space left on device, write`), {
    code,
    syscall: 'write',
    ...(path === undefined ? {} : { path }),
  })

test('names the disk that is full, and reads as a sentence where the system names no file', () => {
  assert.deepEqual(explainSystem(failure('ENOSPC', '/data/bonded.db')), {
    code: 'enospc',
    message: 'The disk that holds /data/bonded.db is full. Free some space on it, and try again.',
  })
  assert.match(explainSystem(failure('ENOSPC')).message, /^A disk is full \(ENOSPC: .*\)\. Free/)
  assert.match(explainSystem(failure('EISDIR')).message, /^A file of this command \(EISDIR: /)
})
