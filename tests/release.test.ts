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
  readonly dependencies?: Readonly<Record<string, string>>
}

interface Component {
  readonly 'bom-ref': string
  readonly licenses?: readonly unknown[]
}

/** The bill of materials that `npm run release` writes beside a tarball. */
function billOf(name: string, ...args: readonly string[]) {
  const script = join(ROOT, 'deploy/sbom.mjs')
  return JSON.parse(
    execFileSync(process.execPath, [script, name, ...args], { encoding: 'utf8' }),
  ) as {
    readonly bomFormat: string
    readonly specVersion: string
    readonly metadata: { readonly component: Component }
    readonly components: readonly Component[]
    readonly dependencies: readonly {
      readonly ref: string
      readonly dependsOn: readonly string[]
    }[]
  }
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

test('a bill of materials lists exactly what an installation of the package has', () => {
  const { bomFormat, specVersion, metadata, components, dependencies } = billOf('store')
  assert.deepEqual([bomFormat, specVersion], ['CycloneDX', '1.5'])
  assert.equal(metadata.component['bom-ref'], '@bonded/store@0.1.0')
  const refs = components.map((component) => component['bom-ref'].replace(/@[^@]+$/, ''))
  for (const name of ['@bonded/contract', '@bonded/core', 'pg', 'pg-protocol', 'typebox'])
    assert.ok(refs.includes(name), name)
  // Packages for its development, of its own and of those that it depends on.
  for (const name of ['@bonded/phone-page', '@bonded/simulator', 'typescript', 'qr'])
    assert.ok(!refs.includes(name), name)
  for (const { licenses, ...component } of components)
    assert.ok(licenses?.[0], component['bom-ref'])
  const known = [metadata.component, ...components].map((component) => component['bom-ref'])
  for (const { ref, dependsOn } of dependencies)
    for (const each of [ref, ...dependsOn]) assert.ok(known.includes(each), each)
})

test('a bill of materials lists the packages whose code is in the tarball', () => {
  const refs = (...args: readonly string[]) =>
    billOf('integrator', ...args).components.map((component) => component['bom-ref'])
  assert.ok(!refs().includes('@bonded/contract@0.1.0'))
  assert.ok(refs('--with', 'contract').includes('@bonded/contract@0.1.0'))
})

test('the list of licenses has each dependency of each package, with a license that permits use', () => {
  const text = readFileSync(join(ROOT, 'docs/reference/licenses.md'), 'utf8')
  const rows = [
    ...text.matchAll(/^\| `(.+)` \| (.+) \| (.+) \| (?:service|sandbox|ciba|console) \|$/gm),
  ]
  const listed = rows.map(([, name]) => name)
  for (const { dependencies = {}, folder } of packages)
    for (const name of Object.keys(dependencies))
      if (!name.startsWith('@bonded/')) assert.ok(listed.includes(name), `${folder}: ${name}`)
  // None of them asks for the source of what contains the package.
  for (const [, name, , license] of rows)
    assert.match(
      license ?? '',
      /^(?:MIT|ISC|Apache-2\.0|\(MIT OR Apache-2\.0\)|BSD-[23]-Clause|0BSD|BlueOak-1\.0\.0)$/,
      name,
    )
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
