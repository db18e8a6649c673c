import { readFileSync } from 'node:fs'
import starlight from '@astrojs/starlight'
import { defineConfig } from 'astro/config'

/** Written by scripts/site from docs/README.md. */
const sidebar = JSON.parse(readFileSync(new URL('sidebar.json', import.meta.url), 'utf8'))

/**
 * A table that scrolls can be focused, so that the keyboard scrolls it too. Each cell has its
 * heading, which a phone shows beside it.
 */
const prepareTables = `
const observer = new ResizeObserver((entries) => {
  for (const { target } of entries)
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0
    else target.removeAttribute('tabindex')
})
for (const table of document.querySelectorAll('.sl-markdown-content table')) {
  observer.observe(table)
  for (const row of table.tBodies[0]?.rows ?? [])
    for (const [index, cell] of [...row.cells].entries())
      cell.dataset.heading = table.tHead?.rows[0]?.cells[index]?.textContent ?? ''
}`

export default defineConfig({
  // The path of the site on its host. By default the site is the whole host.
  base: process.env.SITE_BASE || '/',
  integrations: [
    starlight({
      title: 'Bonded Sessions',
      logo: { src: './public/favicon.svg', alt: '' },
      sidebar,
      expressiveCode: { frames: false, defaultProps: { wrap: true } },
      customCss: ['./src/site.css'],
      head: [{ tag: 'script', attrs: { type: 'module' }, content: prepareTables }],
      social: [
        {
          icon: 'github',
          label: 'Repository',
          href: 'https://github.com/bonded-sessions/bonded-sessions',
        },
      ],
    }),
  ],
})
