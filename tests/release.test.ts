import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { test } from 'node:test'
import { publintMessages, typeProblems } from '../scripts/lint-tarball.ts'

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

test('a release is not published from a machine of a maintainer', () => {
  const script = join(ROOT, 'scripts/release.ts')
  const env = { ...process.env, GITHUB_ACTIONS: undefined }
  const ran = spawnSync(process.execPath, [script, '--publish'], { encoding: 'utf8', env })
  assert.equal(ran.status, 1)
  assert.match(ran.stderr, /^only the release workflow publishes$/m)
  assert.equal(ran.stdout, '')
})

test('a release notices a tarball whose entry or types do not exist', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-tarball-'))
  try {
    mkdirSync(join(folder, 'package'))
    const exported = { '.': { types: './index.d.ts', default: './missing.js' } }
    const manifest = { name: 'broken', version: '1.0.0', type: 'module', exports: exported }
    writeFileSync(join(folder, 'package/package.json'), JSON.stringify(manifest))
    writeFileSync(join(folder, 'package/index.d.ts'), "export * from './nothing.js'\n")
    const tarball = join(folder, 'broken-1.0.0.tgz')
    execFileSync('tar', ['-czf', tarball, '-C', folder, 'package'])
    assert.deepEqual(await publintMessages(tarball), ['FILE_DOES_NOT_EXIST at exports...default'])
    assert.notDeepEqual(await typeProblems(tarball), [])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
