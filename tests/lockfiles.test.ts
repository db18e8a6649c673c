import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { test } from 'node:test'
import { repositoryFiles } from '../scripts/repository-files.ts'

const ROOT = resolve(import.meta.dirname, '..')

interface Lockfile {
  readonly packages: Readonly<
    Record<string, { readonly resolved?: string; readonly integrity?: string }>
  >
}

test('no lockfile has the digest of a tarball that the repository packs, which each change of a source changes', () => {
  const files = repositoryFiles().filter((file) => basename(file) === 'package-lock.json')
  const packed = files.flatMap((file) => {
    const { packages } = JSON.parse(readFileSync(resolve(ROOT, file), 'utf8')) as Lockfile
    return Object.values(packages)
      .filter(({ resolved }) => resolved?.startsWith('file:') === true)
      .map(({ integrity }) => ({ file, integrity }))
  })
  assert.ok(packed.some(({ file }) => file === 'examples/ai-sdk/package-lock.json'))
  assert.deepEqual(
    packed.filter(({ integrity }) => integrity !== undefined),
    [],
  )
})
