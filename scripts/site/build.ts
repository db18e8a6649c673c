import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { type AsyncApi, asyncApiPage } from './async-api.ts'
import { documents, HOME, ROOT } from './documents.ts'
import { homePage, sectionsOf } from './home.ts'
import { httpApiPages, type OpenApi } from './http-api.ts'
import { LIBRARIES, libraryPages } from './library-pages.ts'
import { siteLinks } from './links.ts'
import { llmsText, markdownOf, markdownPath, withAlternate } from './markdown.ts'
import { slugOf } from './documents.ts'
import { editUrl, fileOf, type Page, splitTitle } from './page.ts'
import { sidebarOf } from './sidebar.ts'

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** Installs the generator from its lockfile, unless it is there. */
export function installSite(site: string): void {
  const installed = join(site, 'node_modules/.package-lock.json')
  const lockfile = join(site, 'package-lock.json')
  if (existsSync(installed) && statSync(installed).mtimeMs > statSync(lockfile).mtimeMs) return
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], site)
}

/** Builds the site into `dist` of its folder. */
export function buildSite(site: string): void {
  const library = join(site, '.library/pages')
  mkdirSync(library, { recursive: true })
  run(process.execPath, [join(site, 'library.mjs'), ROOT, library, ...LIBRARIES], site)
  const all = new Set(documents())
  const libraries = libraryPages(library)
  const pages = [...documentPages(all), ...interfacePages()]
  const content = join(site, 'src/content/docs')
  rmSync(content, { recursive: true, force: true })
  for (const page of [...pages, ...libraries])
    write(join(content, `${page.slug || 'index'}.md`), fileOf(withAlternate(page)))
  const sections = sectionsOf(read(HOME), all)
  const sidebar = sidebarOf(sections, pages, libraries)
  write(join(site, 'sidebar.json'), JSON.stringify(sidebar))
  cpSync(join(ROOT, 'docs/images'), join(site, 'src/content/images'), { recursive: true })
  for (const path of ['images', 'reference/openapi.json', 'reference/asyncapi.json'])
    cpSync(join(ROOT, 'docs', path), join(site, 'public', path), { recursive: true })
  run(process.execPath, [join(site, 'node_modules/astro/bin/astro.mjs'), 'build', '--force'], site)
  // The layout of the home page is for browsers, so its Markdown is that of its document.
  const home = { slug: '', ...splitTitle(siteLinks(read(HOME), HOME, all), HOME) }
  const others = [...pages, ...libraries].filter(({ slug }) => slug !== '')
  for (const page of [home, ...others])
    write(join(site, 'dist', markdownPath(page.slug)), markdownOf(page))
  write(join(site, 'dist/llms.txt'), llmsText(home, sections, others))
}

function documentPages(all: ReadonlySet<string>): readonly Page[] {
  return [...all].map((path) => {
    const text = read(path)
    if (path === HOME) return homePage(text, all)
    const { title, body } = splitTitle(siteLinks(text, path, all), path)
    const frontmatter = { editUrl: editUrl(text, path) }
    const slug = slugOf(path, all) ?? ''
    // The README and the home page have the same title.
    return { slug, title: slug === 'overview' ? 'Overview' : title, body, frontmatter }
  })
}

/** The pages of the HTTP API, the channel, and webhooks. */
function interfacePages(): readonly Page[] {
  const openApi = JSON.parse(read('docs/reference/openapi.json')) as OpenApi
  const asyncApi = JSON.parse(read('docs/reference/asyncapi.json')) as AsyncApi
  return [...httpApiPages(openApi), asyncApiPage(asyncApi)].map((page) => ({
    ...page,
    frontmatter: { editUrl: false },
  }))
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** Runs a program of the site without its telemetry, and without the sources of the packages. */
function run(program: string, args: readonly string[], cwd: string): void {
  const { NODE_OPTIONS: _, ...env } = process.env
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    env: { ...env, ASTRO_TELEMETRY_DISABLED: '1' },
  })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed:\n${stdout}\n${stderr}`)
}
