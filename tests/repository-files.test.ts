import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { repositoryFiles } from '../scripts/repository-files.ts'

const ROOT = resolve(import.meta.dirname, '..')
const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
  maxBuffer: 2 ** 26,
})

test('the files of the repository are those that git has or could add', {
  skip: listed.status !== 0 && 'no git: the files of the checkout cannot be listed',
}, () => {
  const known = listed.stdout
    .split('\0')
    .filter((path) => path !== '' && existsSync(join(ROOT, path)))
  assert.deepEqual(repositoryFiles().toSorted(), known.toSorted())
})
