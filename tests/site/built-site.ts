import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { repositoryFiles } from '../../scripts/repository-files.ts'
import { buildSite, installSite } from '../../scripts/site/build.ts'
import { ROOT } from '../../scripts/site/documents.ts'
import { NO_REGISTRY } from '../harness/no-registry.ts'

/** Builds the site in a folder of its own, from its lockfile. `skip` says why it could not. */
export function builtSite() {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-site-'))
  const files = repositoryFiles().filter((file) => file.startsWith('site/'))
  for (const file of files) cpSync(join(ROOT, file), join(folder, file), { recursive: true })
  const site = join(folder, 'site')
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    installSite(site)
  } catch (error) {
    if (!NO_REGISTRY.test(String(error))) throw error
    const skip = `the site is not built, because npm reaches no registry for the packages of site/package-lock.json`
    console.warn(`LOUD: ${skip}`)
    return { site, skip, remove, pages: [] }
  }
  buildSite(site)
  const dist = join(site, 'dist')
  const pages = globSync('**/*.html', { cwd: dist }).map((path) => {
    const html = readFileSync(join(dist, path), 'utf8')
    return { path: `/${path.replace(/(?<=^|\/)index\.html$/, '')}`, html }
  })
  return { site, skip: false as const, remove, pages }
}

/** The file of the site that an address serves. */
export function fileAt(site: string, path: string): string | undefined {
  const file = join(site, 'dist', decodeURI(path), path.endsWith('/') ? 'index.html' : '')
  return existsSync(file) ? file : undefined
}
