import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Page, splitTitle } from './page.ts'

/** The packages that are documented: those whose functions other programs call. */
export const LIBRARIES = ['integrator', 'widget', 'phone', 'attestation'] as const

/** The pages of the modules that typedoc wrote into a folder. */
export function libraryPages(folder: string): readonly Page[] {
  return globSync('**/*.md', { cwd: folder })
    .filter((path) => path !== 'index.md')
    .toSorted()
    .map((path) => {
      const { title, body } = splitTitle(readFileSync(join(folder, path), 'utf8'), path)
      // A page is a folder on the site, so links to other modules start one level higher.
      const linked = body.replaceAll(
        /\]\(((?:\.\.\/)*[\w/-]+)\.md(#[^)]*)?\)/g,
        (_, target: string, hash = '') => `](../${target}/${hash})`,
      )
      return {
        slug: `library/${path.replace(/\.md$/, '')}`,
        title,
        // typedoc also counts names without a heading when it numbers equal ones.
        body: linked.replaceAll(/\]\(#(\w+)-1\)/g, (link, name: string) =>
          headings(body, name) === 1 ? `](#${name})` : link,
        ),
        frontmatter: {
          editUrl: false,
          tableOfContents: { minHeadingLevel: 2, maxHeadingLevel: 3 },
        },
      }
    })
}

function headings(body: string, name: string): number {
  return body.match(new RegExp(`^#+ ${name}$`, 'gim'))?.length ?? 0
}
