import { cpSync, mkdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
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
