import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { explainSystem } from '../../src/program/explain-system.ts'

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

test('names the file that does not exist, or its folder if that does not exist either', () => {
  const folder = join(tmpdir(), 'bonded-no-such-folder')
  const { message } = explainSystem(failure('ENOENT', join(folder, 'x')))
  assert.equal(message, `The folder ${folder} does not exist. Check the path.`)
  for (const file of [join(tmpdir(), 'bonded-no-such-file'), 'bonded-no-such-file'])
    assert.equal(
      explainSystem(failure('ENOENT', file)).message,
      `${file} does not exist. Check the path.`,
    )
})
