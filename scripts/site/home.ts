import { basename } from 'node:path'
import { siteLinks } from './links.ts'
import { type Page, splitTitle } from './page.ts'
import { HOME } from './documents.ts'

interface Link {
  readonly label: string
  readonly link: string
}
export interface Section {
  readonly label: string
  readonly items: readonly Link[]
}

const IMAGE = /^!\[([^\]]+)\]\(([^)]+)\)\n/m
const ITEM = /^- \[([^\]]+)\]\(\.\/([^)]*)\)/gm

/** The home page: the first paragraph and the picture beside it, then the paths of the readers. */
export function homePage(text: string, all: ReadonlySet<string>): Page {
  const { title, body } = splitTitle(siteLinks(text, HOME, all), HOME)
  const [image = '', alt = '', source = ''] = IMAGE.exec(body) ?? []
  // The generator would crop a picture of its own.
  const html = `<img src="./images/${basename(source)}" alt="${alt}" width="1360" height="940">`
  const [tagline = '', ...rest] = body.replace(image, '').trim().split('\n\n')
  const [intro = '', ...sections] = rest.join('\n\n').split(/^(?=## )/m)
  return {
    slug: '',
    title,
    body: `${intro}\n<div class="paths">\n\n${sections.map((section) => `<section>\n\n${section}\n</section>\n`).join('\n')}\n</div>\n`,
    frontmatter: {
      description: tagline,
      template: 'splash',
      editUrl: false,
      // Without it, the title of the window is that of the page and of the site.
      head: [{ tag: 'title', content: title }],
      hero: {
        title,
        tagline,
        image: { html },
        actions: [
          { text: 'Start with the quickstart', link: './guides/quickstart/', icon: 'right-arrow' },
        ],
      },
    },
  }
}

/** The sections of the home page, with their links. They are the sidebar. */
export function sectionsOf(text: string, all: ReadonlySet<string>): readonly Section[] {
  return siteLinks(text, HOME, all)
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      label: section.slice(0, section.indexOf('\n')),
      items: [...section.matchAll(ITEM)].map(([, label = '', target = '']) => ({
        label,
        link: `/${target}`,
      })),
    }))
}
