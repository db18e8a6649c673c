import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { publintMessages, typeProblems } from './lint-tarball.ts'
import { inOrder, NAMES, VENDORED } from './packages.ts'

/**
 * `npm run release`: builds, packs, and checks every package, and prints what a release would
 * publish. It changes nothing in the registry. `-- --folder FOLDER` keeps the tarballs, each with
 * its bill of materials.
 *
 * `-- --publish` also publishes them. Only the release workflow may: the registry then shows from
 * which commit and workflow a package comes. A release that failed halfway can run again.
 */
const ROOT = resolve(import.meta.dirname, '..')
const { values } = parseArgs({
  options: { folder: { type: 'string' }, publish: { type: 'boolean', default: false } },
})
const problems = values.publish ? obstacles() : []
stopOn(problems)

const folder = resolve(values.folder ?? mkdtempSync(join(tmpdir(), 'bonded-release-')))
npm('run', '--silent', 'build')
npm('run', '--silent', 'pack', '--', folder)
const names = inOrder(NAMES)
const tarballs = names.flatMap((name) => globSync(join(folder, `bonded-${name}-[0-9]*.tgz`)))
if (tarballs.length !== names.length)
  problems.push(`${folder} has other tarballs than those of ${names.length} packages`)
for (const tarball of tarballs) {
  const found = [...(await publintMessages(tarball)), ...(await typeProblems(tarball))]
  problems.push(...found.map((problem) => `${basename(tarball)}: ${problem}`))
  const kilobytes = (statSync(tarball).size / 1_000).toFixed(1)
  console.log(
    `${values.publish ? 'checked' : 'would publish'} ${basename(tarball)} ${kilobytes} kB`,
  )
}
for (const [index, tarball] of tarballs.entries()) {
  const bill = join(folder, `${basename(tarball, '.tgz')}.cdx.json`)
  writeFileSync(bill, billOf(names[index] ?? ''))
  console.log(`wrote ${basename(bill)}`)
}
stopOn(problems)
if (values.publish) for (const tarball of tarballs) publish(tarball)

/** Why nothing may be published from here. */
function obstacles(): string[] {
  const waiting = globSync('.changeset/*.md', { cwd: ROOT }).filter(
    (file) => basename(file) !== 'README.md',
  )
  // The other checks need git, which a copy of the repository may not have.
  if (process.env.GITHUB_ACTIONS !== 'true') return ['only the release workflow publishes']
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' })
  return [
    ...waiting.map((file) => `${file} waits: run "npm run changeset -- version" and commit`),
    ...(git('status', '--porcelain') === '' ? [] : ['the working tree has uncommitted changes']),
  ]
}

/** The bill of materials of a package, with the packages whose code is in its tarball. */
function billOf(name: string): string {
  const contained = (VENDORED[name] ?? []).flatMap((each) => ['--with', each])
  const args = [join(ROOT, 'deploy/sbom.mjs'), name, ...contained]
  return execFileSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 2 ** 26 })
}

function publish(tarball: string): void {
  const [, name = '', version = ''] = /^bonded-(.+?)-(\d.*)\.tgz$/.exec(basename(tarball)) ?? []
  if (isPublished(`@bonded/${name}@${version}`)) return console.log(`already there: ${tarball}`)
  npm('publish', tarball, '--provenance', '--access', 'public')
}

function isPublished(spec: string): boolean {
  const { status, stdout } = spawnSync('npm', ['view', spec, 'version'], { encoding: 'utf8' })
  return status === 0 && stdout.trim() !== ''
}

function npm(...args: readonly string[]): void {
  execFileSync('npm', args, { cwd: ROOT, stdio: 'inherit' })
}

function stopOn(found: readonly string[]): void {
  if (found.length === 0) return
  for (const problem of found) console.error(problem)
  process.exit(1)
}
