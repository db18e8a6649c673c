import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { test } from 'node:test'

const ROOT = resolve(import.meta.dirname, '..')

interface Manifest {
  readonly name: string
  readonly version: string
  readonly files: readonly string[]
}

const packages = globSync('packages/*/package.json', { cwd: ROOT }).map((path) => {
  const manifest = JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as Manifest
  return { ...manifest, folder: dirname(path) }
})

test('every published package has a changelog in its tarball, with an entry for its version', () => {
  assert.ok(packages.length > 10, 'the packages were found')
  for (const { name, version, files, folder } of packages) {
    const text = readFileSync(join(ROOT, folder, 'CHANGELOG.md'), 'utf8')
    assert.ok(text.startsWith(`# ${name}\n`), folder)
    assert.match(text.split(`\n## ${version}\n\n`)[1] ?? '', /^\S/, folder)
    assert.ok(files.includes('CHANGELOG.md'), folder)
  }
})

test('all packages have one version, because they are released together', () => {
  assert.equal(new Set(packages.map(({ version }) => version)).size, 1)
})

test('every change that waits for a release names published packages', () => {
  const names = packages.map(({ name }) => name)
  for (const file of globSync('.changeset/*.md', { cwd: ROOT })) {
    if (file.endsWith('README.md')) continue
    const [, head = ''] =
      /^---\n([^]*?)\n---\n\s*\S/.exec(readFileSync(join(ROOT, file), 'utf8')) ?? []
    const named = [...head.matchAll(/^["'](.+)["']: (?:major|minor|patch)$/gm)].map(
      ([, name = '']) => name,
    )
    assert.ok(named.length > 0, `${file} names no package`)
    for (const name of named) assert.ok(names.includes(name), `${file}: ${name}`)
  }
})
