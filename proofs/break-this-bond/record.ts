import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { openBrowser } from '../../tests/browser.ts'
import { writePage } from './build.ts'
import type { Level } from './engine/level.ts'

/** A file server without encryption, on which browsers have no Web Crypto. */
export const ORIGIN = 'http://files.example'
/** A busy machine plays a level in some seconds. */
const TIMEOUT_MS = 120_000
const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css',
  html: 'text/html',
  js: 'text/javascript',
}

/** Moves by which each level is won without its guard. */
export const WINNING_MOVES: Readonly<Record<number, string>> = {
  1: 'photograph wait wait scan approve',
  2: 'show mia edit submit',
  3: 'open own submit',
  4: 'open relay lure prove submit',
  5: 'enroll_mia own call',
  6: 'ask mia tool call',
  7: 'ask own release',
  8: 'text phone show',
  9: 'restore forget show',
}

/** Serves a folder to a page, and nothing beside it. @returns what else the page has requested */
export async function serveFolder(page: Page, folder: string): Promise<readonly string[]> {
  const foreign: string[] = []
  await page.route('**/*', async (route) => {
    const { origin, pathname } = new URL(route.request().url())
    if (origin !== ORIGIN) {
      foreign.push(route.request().url())
      return route.abort()
    }
    const name = pathname === '/' ? 'index.html' : pathname.slice(1)
    const type = TYPES[name.split('.').at(-1) ?? '']
    return type === undefined
      ? route.fulfill({ status: 404 })
      : route.fulfill({ contentType: type, body: readFileSync(join(folder, name)) })
  })
  return foreign
}

/**
 * Writes pictures of a visitor who wins each level without its guard, and loses it by the same
 * moves with the guard, as PNG files into a folder.
 */
export async function record(folder: string, levels: readonly Level[]): Promise<void> {
  const site = mkdtempSync(join(tmpdir(), 'bonded-game-page-'))
  mkdirSync(folder, { recursive: true })
  const browser = await openBrowser()
  try {
    await writePage(site, levels)
    const page = await browser.newPage({ viewport: { width: 1_360, height: 900 } })
    page.setDefaultTimeout(TIMEOUT_MS)
    await serveFolder(page, site)
    for (const { id } of levels)
      for (const guard of ['off', 'on']) {
        const moves = (WINNING_MOVES[id] ?? '').replaceAll(' ', ',')
        await page.goto(`${ORIGIN}/#seed=1&level=${id}&guard=${guard}&moves=${moves}`)
        const outcome = guard === 'off' ? 'You have won.' : 'What has stopped you'
        await page.locator('#title', { hasText: `Level ${id}:` }).waitFor()
        await page.getByRole('status').getByText(outcome).waitFor()
        await page.screenshot({ path: join(folder, `level-${id}-${guard}.png`), fullPage: true })
      }
  } finally {
    await browser.close()
    rmSync(site, { recursive: true })
  }
}
