import { dirname, relative } from 'node:path'
import type { Section } from './home.ts'
import { mapTargets, upFrom } from './links.ts'
import type { Page } from './page.ts'

/** A page as Markdown, beside the page itself: `guides/quickstart.md` for `guides/quickstart/`. */
export function markdownPath(slug: string): string {
  return `${slug || 'index'}.md`
}

/** The Markdown of a page. Its links lead to the Markdown of other pages. */
export function markdownOf({ slug, title, body }: Page): string {
  return `# ${title}\n\n${toMarkdown(body, slug).trim()}\n`
}

/** Adds the address of its Markdown to the head of a page. */
export function withAlternate(page: Page): Page {
  const { head = [], ...frontmatter } = page.frontmatter ?? {}
  const href = `${upFrom(page.slug)}${markdownPath(page.slug)}`
  const link = { tag: 'link', attrs: { rel: 'alternate', type: 'text/markdown', href } }
  return { ...page, frontmatter: { ...frontmatter, head: [...(head as readonly object[]), link] } }
}

/**
 * The list of all pages for programs (llmstxt.org): the sections of the home page, and the pages
 * that it does not list.
 *
 * @param home the document of the home page
 */
export function llmsText(home: Page, sections: readonly Section[], pages: readonly Page[]): string {
  const [tagline = ''] = home.body.trim().split('\n\n')
  const start = home.body.search(/^## /m)
  const listed = new Set(sections.flatMap(({ items }) => items.map(({ link }) => link)))
  const others = pages
    .filter(({ slug }) => slug !== '' && !listed.has(`/${slug}/`))
    .map(({ slug, title }) => `- [${title}](${markdownPath(slug)})`)
  const lists = toMarkdown(home.body.slice(start), '').trim()
  return `# ${home.title}\n\n> ${tagline}\n\n${lists}\n\n## Optional\n\n${others.join('\n')}\n`
}

function toMarkdown(body: string, slug: string): string {
  const page = new URL(`http://site.invalid/${slug}${slug === '' ? '' : '/'}`)
  return mapTargets(body, (target) => {
    const { origin, pathname, hash } = new URL(target, page)
    if (origin !== page.origin || target.startsWith('#')) return target
    const path = pathname.slice(1)
    const file = path === '' || path.endsWith('/') ? markdownPath(path.replace(/\/$/, '')) : path
    return `${relative(`/${dirname(markdownPath(slug))}`, `/${file}`)}${hash}`
  })
}
