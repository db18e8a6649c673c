import { existsSync, statSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { REPOSITORY, ROOT, slugOf } from './documents.ts'

/** A fenced block, a code span, or the target of a link or an image, with its title. */
const PIECE = /^( *)(`{3,}|~{3,})[\s\S]*?^\1\2|(`+)[^`][\s\S]*?\3|\]\(([^)\s]+)([^)]*)\)/gm

/**
 * Changes the links of a document into those of its page: to pages of the site, to the files that
 * the site serves, or to the repository.
 *
 * @param path of the document
 */
export function siteLinks(text: string, path: string, all: ReadonlySet<string>): string {
  const slug = slugOf(path, all) ?? ''
  return mapTargets(text, (target) => siteTarget(target, { path, slug, all }))
}

/** Changes the target of each link and image of a Markdown text, outside code. */
export function mapTargets(text: string, change: (target: string) => string): string {
  return text.replaceAll(PIECE, (piece, ...groups: (string | undefined)[]) => {
    const [target, title = ''] = [groups[3], groups[4]]
    return target === undefined ? piece : `](${change(target)}${title})`
  })
}

interface From {
  readonly path: string
  readonly slug: string
  readonly all: ReadonlySet<string>
}

function siteTarget(target: string, { path, slug, all }: From): string {
  if (/^(?:[a-z][a-z0-9+.-]*:|#)/i.test(target)) return target
  const [file = '', anchor] = target.split('#', 2)
  const linked = normalize(join(dirname(path), decodeURI(file)))
  const hash = anchor === undefined ? '' : `#${anchor}`
  // Images are beside the pages' files, where the generator finds and shrinks them.
  if (linked.startsWith('docs/images/'))
    return `${'../'.repeat(slug.split('/').length)}${linked.replace('docs/', '')}`
  const page = slugOf(linked, all)
  if (page !== undefined) return `${upFrom(slug)}${page === '' ? '' : `${page}/`}${hash}`
  if (!existsSync(join(ROOT, linked))) throw new Error(`${path} links to ${target}: no such file`)
  const kind = statSync(join(ROOT, linked)).isDirectory() ? 'tree' : 'blob'
  return `${REPOSITORY}/${kind}/main/${linked.replace(/\/$/, '')}${hash}`
}

/** The site's root, seen from a page. Relative, so that the site works below any path. */
export function upFrom(slug: string): string {
  return slug === '' ? './' : `${relative(`/${slug}`, '/')}/`
}
