import { resolve } from 'node:path'
import { repositoryFiles } from '../repository-files.ts'

export const ROOT = resolve(import.meta.dirname, '../..')
/** The repository, where links lead that have no page on the site. */
export const REPOSITORY = 'https://github.com/bonded-sessions/bonded-sessions'
/** The home page, whose sections are also the sidebar. */
export const HOME = 'docs/README.md'

/** Documents for the repository alone. */
const LEFT_OUT = /^(?:AGENTS\.md|\.|packages\/[\w-]+\/CHANGELOG\.md)/
/** A reader of the site opens these pages, which are generated from the files. */
const RENDERED: Readonly<Record<string, string>> = {
  'docs/reference/openapi.json': 'reference/http-api',
  'docs/reference/asyncapi.json': 'reference/channel-and-webhooks',
}

/** Every document that is a page of the site, by its path in the repository. */
export function documents(): readonly string[] {
  return repositoryFiles().filter((path) => path.endsWith('.md') && !LEFT_OUT.test(path))
}

/**
 * The path of a file's page on the site, without slashes at its ends.
 *
 * @example slugOf('docs/guides/operate/README.md') // 'guides/operate'
 * @returns undefined for a file that has none
 */
export function slugOf(path: string, all: ReadonlySet<string>): string | undefined {
  if (path in RENDERED) return RENDERED[path]
  if (path === HOME) return ''
  if (path === 'README.md') return 'overview'
  const readme = `${path.replace(/\/$/, '')}/README.md`
  if (!all.has(path)) return all.has(readme) ? slugOf(readme, all) : undefined
  return path
    .replace(/^docs\//, '')
    .replace(/(?:\/README)?\.md$/, '')
    .toLowerCase()
}
