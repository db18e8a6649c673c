import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { Compile } from 'typebox/schema'
import { documents, REPOSITORY, ROOT, slugOf } from '../../scripts/site/documents.ts'
import { mapTargets } from '../../scripts/site/links.ts'
import { serveSite } from '../../scripts/site/serve.ts'
import { browserMissing, openBrowser } from '../browser.ts'
import { builtSite, fileAt } from './built-site.ts'

/** One page of each kind. */
const KINDS = [
  '/',
  '/guides/quickstart/',
  '/reference/http-api/',
  '/reference/http-api/evidence/',
  '/reference/channel-and-webhooks/',
  '/reference/events/',
  '/reference/limits/',
  '/reference/reasons/rate_limited/',
  '/decisions/',
  '/packages/widget/',
  '/library/widget/script/',
  '/404.html',
]
const VIEWS = [
  { colorScheme: 'light', viewport: { width: 1360, height: 900 } },
  { colorScheme: 'dark', viewport: { width: 390, height: 844 } },
] as const
const AXE = createRequire(join(ROOT, 'packages/widget/package.json')).resolve('axe-core')

const { site, skip, remove, pages } = builtSite()
after(remove)
const inBrowser = { skip: skip || browserMissing }

test('the AsyncAPI document is valid by the published schema', { skip }, () => {
  const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as object
  const schemas = join(site, 'node_modules/@asyncapi/specs/schemas')
  const validator = Compile(read(join(schemas, '3.0.0-without-$id.json')) as never)
  const document = read(join(ROOT, 'docs/reference/asyncapi.json'))
  const other = { ...document, operations: { a: { action: 'post' } } }
  assert.ok(!validator.Check(other))
  assert.ok(validator.Check(document), JSON.stringify(validator.Errors(document)[1].slice(0, 5)))
})

test('every link leads to a page, a heading, or a file of the repository', { skip }, () => {
  assert.ok(pages.length > 150, 'the pages were found')
  const ids = new Map(
    pages.map(({ path, html }) => [
      path,
      new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id)),
    ]),
  )
  const targets = pages.flatMap(({ path, html }) =>
    [...html.matchAll(/<(?:a|img|link|script)\b[^>]*?\s(?:href|src)="([^"]*)"/g)].map(
      ([, target = '']) => [path, target.replaceAll('&#38;', '&')] as const,
    ),
  )
  const broken = targets.filter(([path, target]) => {
    const url = new URL(target, `http://site.example${path}`)
    const inRepository = url.href.startsWith(`${REPOSITORY}/`)
    if (inRepository) {
      const [, file = ''] =
        /^\/(?:blob|tree|edit)\/main\/(.+)$/.exec(
          url.href.slice(REPOSITORY.length).replace(/#.*/, ''),
        ) ?? []
      return file !== '' && !existsSync(join(ROOT, file))
    }
    if (url.host !== 'site.example') return false
    if (fileAt(site, url.pathname) === undefined) return true
    const anchor = decodeURIComponent(url.hash.slice(1))
    return anchor !== '' && ids.get(url.pathname)?.has(anchor) === false
  })
  assert.deepEqual(
    broken.map(([path, target]) => `${path} links to ${target}`),
    [],
  )
})

test('every document has a page, and the home page has the four paths', { skip }, () => {
  const all = new Set(documents())
  const missing = [...all].filter((path) => {
    const slug = slugOf(path, all) ?? ''
    return fileAt(site, slug === '' ? '/' : `/${slug}/`) === undefined
  })
  assert.deepEqual(missing, [])
  const home = pages.find(({ path }) => path === '/')?.html ?? ''
  for (const heading of ['Integrator', 'Phone app author', 'Operator', 'Security reviewer'])
    assert.match(home, new RegExp(`<h2[^>]*>${heading}</h2>`))
})

/** The targets of links in a Markdown text, outside code. */
const targetsIn = (text: string) => {
  const targets: string[] = []
  mapTargets(text, (target) => {
    targets.push(target)
    return target
  })
  return targets
}

test('every page is also Markdown, whose links lead to Markdown', { skip }, () => {
  for (const { path, html } of pages) {
    if (path === '/404.html') continue
    const [, alternate = ''] =
      /<link rel="alternate" type="text\/markdown" href="([^"]+)"/.exec(html) ?? []
    const address = new URL(alternate, `http://site.example${path}`).pathname
    const file = fileAt(site, address)
    assert.ok(file !== undefined && address.endsWith('.md'), `${path}: ${alternate}`)
    const text = readFileSync(file, 'utf8')
    assert.match(text, /^# \S/, address)
    for (const target of targetsIn(text)) {
      const url = new URL(target, `http://site.example${address}`)
      if (url.host !== 'site.example') continue
      assert.ok(fileAt(site, url.pathname), `${address} links to ${target}`)
      assert.ok(!url.pathname.endsWith('/'), `${address} links to ${target}, which is not Markdown`)
    }
  }
})

test('llms.txt lists the Markdown of every page once', { skip }, () => {
  const text = readFileSync(join(site, 'dist/llms.txt'), 'utf8')
  assert.match(text, /^# Bonded Sessions\n\n> \S.+\n\n## Integrator\n/)
  const listed = targetsIn(text).map((target) => new URL(target, 'http://site.example/llms.txt'))
  const own = listed.filter(({ host }) => host === 'site.example').map(({ pathname }) => pathname)
  const expected = pages
    .filter(({ path }) => path !== '/' && path !== '/404.html')
    .map(({ path }) => `${path.slice(0, -1)}.md`)
  assert.deepEqual([...new Set(own)].toSorted(), expected.toSorted())
})

test('the home page has one call to action, and endpoints have their bodies', { skip }, () => {
  const htmlOf = (wanted: string) => pages.find(({ path }) => path === wanted)?.html ?? ''
  const home = htmlOf('/')
  assert.equal(home.match(/class="[^"]*sl-link-button/g)?.length, 1)
  const evidence = htmlOf('/reference/http-api/evidence/')
  for (const text of ['Request body', 'Response', 'continuity&#95;score|continuity_score'])
    assert.match(evidence, new RegExp(text))
})

async function open(page: Page, origin: string, path: string) {
  await page.goto(`${origin}${path}`)
  await page.addScriptTag({ path: AXE })
  return page.evaluate<
    [string[], number, number]
  >(`axe.run(document, { resultTypes: ['violations'] })
    .then(({ violations }) => [
      violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ' ' + target)),
      document.documentElement.scrollWidth,
      innerWidth,
    ])`)
}

for (const { colorScheme, viewport } of VIEWS)
  test(
    `axe finds nothing, and pages fit their width: ${colorScheme}, ${viewport.width} px`,
    inBrowser,
    async () => {
      await using server = await serveSite(site)
      await using browser = await openBrowser()
      const page = await browser.newPage({ colorScheme, viewport })
      for (const path of KINDS) {
        const [violations, width, room] = await open(page, server.origin, path)
        assert.deepEqual(violations, [], path)
        assert.ok(width <= room, `${path} is ${width} px wide`)
        const wide = await page.evaluate<
          string[]
        >(`[...document.querySelectorAll('.sl-markdown-content table')]
          .filter((table) => table.scrollWidth > table.clientWidth + 1)
          .map((table) => table.innerText.slice(0, 80))`)
        assert.deepEqual(wide, [], `tables of ${path} scroll`)
      }
    },
  )

test('the search finds a page, and no request leaves the site', inBrowser, async () => {
  await using server = await serveSite(site)
  await using browser = await openBrowser()
  const page = await browser.newPage()
  const hosts = new Set<string>()
  page.on('request', (request) => hosts.add(new URL(request.url()).origin))
  await page.goto(`${server.origin}/guides/quickstart/`)
  await page.getByRole('button', { name: 'Search' }).click()
  await page.getByRole('dialog').getByRole('textbox').fill('claimed by another phone')
  await page.getByRole('dialog').getByRole('link').first().click()
  await page.waitForURL((url) => url.pathname !== '/guides/quickstart/')
  assert.deepEqual([...hosts], [server.origin])
})
