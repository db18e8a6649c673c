import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/**
 * The last build before the newest migrations: those of one version, which are applied together.
 * The first commit after a version that adds a migration sets it to its own parent.
 */
const COMMIT = 'e2b2e0857f918623e61a19d244fbab372223b7a0'
const ROOT = resolve(import.meta.dirname, '../..')
const FOLDERS = ['packages', 'examples/bank', 'examples/demo']
/** Where that commit has it. */
const MAIN = ['packages', 'service', 'src', 'main.ts']

const git = (...args: string[]) => spawnSync('git', args, { cwd: ROOT, maxBuffer: 2 ** 28 })
const isHere = (commit: string) => git('cat-file', '-e', `${commit}^{tree}`).status === 0

/** Why an old build cannot run, or false. A shallow clone can usually get the one commit. */
export function skipWithoutHistory(commit = COMMIT): string | false {
  if (isHere(commit)) return false
  git('fetch', '--depth=1', 'origin', commit)
  return !isHere(commit) && `commit ${commit} is not in this clone (git fetch --unshallow)`
}

/** The build before the last migration, with the installed packages of this one. */
export function unpackOldBuild(): Disposable & { readonly program: readonly string[] } {
  const { folder, [Symbol.dispose]: dispose } = unpackCommit(COMMIT, ['package.json', ...FOLDERS])
  if (!existsSync(join(folder, ...MAIN))) throw new Error(`${COMMIT} has no ${MAIN.join('/')}`)
  const own = join(folder, 'node_modules')
  for (const name of ['bank', 'demo'])
    symlinkSync(join(folder, 'examples', name), join(own, '@bonded', `example-${name}`))
  return {
    program: [
      '--conditions=@bonded/source',
      '--disable-warning=ExperimentalWarning',
      join(folder, ...MAIN),
    ],
    [Symbol.dispose]: dispose,
  }
}

/** Files of a commit, which find its own packages, and the installed ones of this build. */
export function unpackCommit(
  commit: string,
  paths: readonly string[],
): Disposable & { readonly folder: string } {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-old-build-'))
  const archive = git('archive', '--format=tar', commit, ...paths)
  const unpacked = spawnSync('tar', ['-x', '-C', folder], { input: archive.stdout })
  if (archive.status !== 0 || unpacked.status !== 0)
    throw new Error(`the old build cannot be unpacked: ${String(archive.stderr)}`)
  linkInstalled(folder)
  for (const name of readdirSync(join(folder, 'packages')))
    symlinkSync(join(folder, 'packages', name), join(folder, 'node_modules/@bonded', name))
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Lets the programs of a folder find the installed packages of others, and none of `@bonded`. */
export function linkInstalled(folder: string): void {
  const [own, installed] = [join(folder, 'node_modules'), join(ROOT, 'node_modules')]
  mkdirSync(join(own, '@bonded'), { recursive: true })
  for (const name of readdirSync(installed))
    if (name !== '@bonded') symlinkSync(join(installed, name), join(own, name))
}
