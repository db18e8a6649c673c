import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { matchesGlob, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '..')

/**
 * Every file of the repository, by its path from the root: what git has and what could be added.
 * Works without git, so that the tests of documents and sources run in a downloaded copy too.
 */
export function repositoryFiles(root = ROOT): readonly string[] {
  return filesBelow(root, '', [])
}

/** @param ignored globs of the folders above */
function filesBelow(root: string, folder: string, ignored: readonly string[]): string[] {
  const all = [...ignored, ...ignoredBy(root, folder)]
  return readdirSync(resolve(root, folder), { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = folder + entry.name
      if (entry.name === '.git') return []
      const isFolder = entry.isDirectory()
      if (all.some((glob) => matchesGlob(isFolder ? `${path}/` : path, glob))) return []
      return isFolder ? filesBelow(root, `${path}/`, all) : [path]
    })
}

/** The patterns of a .gitignore as globs from the root. Exceptions with `!` are not supported. */
function ignoredBy(root: string, folder: string): readonly string[] {
  const file = resolve(root, folder, '.gitignore')
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const isAnchored = line.replace(/\/$/, '').includes('/')
      return folder + (isAnchored ? line.replace(/^\//, '') : `**/${line}`)
    })
}
