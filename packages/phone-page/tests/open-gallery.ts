import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { directionOf } from '@bonded/contract'
import { build } from 'esbuild'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { LONGEST, longestOf } from '../../../tests/harness/measured-languages.ts'
import { bundle } from '../build/bundle.ts'
import { LANGUAGES } from '../src/messages/language.ts'

/** Every screen of the page, in the page's own style. */
export interface Gallery {
  /** Opens it in a browser profile of its own. `gallery` is a global of the page. */
  open(browser: Browser, options: BrowserContextOptions): Promise<Page>
}

/** Builds the view with every screen. */
export async function buildGallery(): Promise<Gallery> {
  const { inbox } = await bundle()
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'gallery/gallery.ts')],
    bundle: true,
    write: false,
    format: 'iife',
    conditions: ['@bonded/source'],
    tsconfigRaw: {},
  })
  const script = outputFiles[0]?.text ?? ''
  return {
    async open(browser, options) {
      const context = await browser.newContext({ hasTouch: true, isMobile: true, ...options })
      const page = await context.newPage()
      await page.setContent(
        `<!doctype html><html lang="en"><head><title translate="no">x</title><meta name="viewport" content="width=device-width, initial-scale=1"><style>${inbox.style}</style></head><body><main></main></body></html>`,
      )
      await page.addScriptTag({ content: script })
      return page
    },
  }
}

/** A language as the gallery draws it, from its file. `en` is `null`. */
export function languageIn(tag: string): string {
  if (tag === 'en') return 'null'
  const read = (file: string) =>
    JSON.parse(readFileSync(join(import.meta.dirname, '..', file), 'utf8')) as Record<
      string,
      object
    >
  const inbox = read('inbox-words.json')
  const wordsOf = (of: string) => ({ ...read(`languages/${of}.json`), ...inbox[of] })
  const words = JSON.stringify(tag === LONGEST ? longestOf(LANGUAGES.map(wordsOf)) : wordsOf(tag))
  return `{ tag: '${tag}', dir: '${directionOf(tag)}', words: ${words} }`
}
