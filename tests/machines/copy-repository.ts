import { execFile, execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { repositoryFiles } from '../../scripts/repository-files.ts'

export const ROOT = resolve(import.meta.dirname, '../..')

/** Copies the files of the repository that a clone has, and nothing from beside it. */
export function copyRepository(to: string, isWanted = (_file: string) => true): void {
  for (const file of repositoryFiles().filter((path) => isWanted(path))) {
    mkdirSync(join(to, dirname(file)), { recursive: true })
    cpSync(join(ROOT, file), join(to, file), { verbatimSymlinks: true })
  }
}

/** The example app is not part of a build. */
export function isBuilt(file: string): boolean {
  return !file.startsWith('examples/phone-app/')
}

/**
 * Packs the tarball for a server into a folder, from a copy in it, because another test may be
 * building the repository at the same time.
 *
 * @param command of the guide, which writes to the folder above the copy
 * @returns its path
 */
export async function packTarball(
  work: string,
  command = 'npm run pack:linux -- ..',
): Promise<string> {
  const copy = join(work, 'source')
  copyRepository(copy, isBuilt)
  // The links of npm to the packages are relative, so they lead to the copy. Other tests write to
  // the caches, and remove files from them.
  for (const modules of globSync('{.,packages/*}/node_modules', { cwd: ROOT })) {
    const [from, to] = [join(ROOT, modules), join(copy, modules)]
    const names = readdirSync(from).filter((name) => name !== '.cache')
    mkdirSync(to)
    execFileSync('cp', ['-a', '-t', to, ...names], { cwd: from })
  }
  await promisify(execFile)('sh', ['-ec', command], { cwd: copy })
  const [tarball = ''] = readdirSync(work).filter((name) => name.endsWith('.tar.gz'))
  return join(work, tarball)
}
