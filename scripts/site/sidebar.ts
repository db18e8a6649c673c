import type { Page } from './page.ts'
import type { Section } from './home.ts'

/** Folders whose pages the sidebar shows even if the home page does not list them yet. */
const LISTED = /^(?:guides|reference|packages|examples)\/(?!reasons\/|http-api\/)/

/** The sidebar: the sections of the home page, and the libraries. */
export function sidebarOf(
  sections: readonly Section[],
  pages: readonly Page[],
  libraries: readonly Page[],
): readonly object[] {
  const linked = new Set(sections.flatMap(({ items }) => items.map(({ link }) => link)))
  const linkTo = ({ slug, title }: Page) => ({ label: title, link: `/${slug}/` })
  const others = pages
    .filter(({ slug }) => LISTED.test(slug) && !linked.has(`/${slug}/`))
    .map(linkTo)
  return [
    ...sections.map(({ label, items }) => ({ label, collapsed: true, items: [...items] })),
    { label: 'Library reference', collapsed: true, items: libraries.map(linkTo) },
    ...(others.length > 0 ? [{ label: 'More', collapsed: true, items: others }] : []),
  ]
}
