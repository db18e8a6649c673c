import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { browserMissing, openBrowser } from '../../tests/browser.ts'
import { writePage } from '../break-this-bond/build.ts'
import { loadGame } from '../break-this-bond/prove-game.ts'
import { ORIGIN, serveFolder, WINNING_MOVES } from '../break-this-bond/record.ts'

const browserTest = { skip: browserMissing, timeout: 300_000 }
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const LOOKS = [
  { size: { width: 1_360, height: 900 }, colorScheme: 'light' },
  { size: { width: 390, height: 844 }, colorScheme: 'dark' },
] as const

/** The page on a file server, in a browser without any other network. */
async function openPage(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-game-page-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const { LEVELS } = await loadGame()
  await writePage(folder, LEVELS)
  const browser = await openBrowser()
  t.after(() => browser.close())
  const page = await browser.newPage()
  const foreign = await serveFolder(page, folder)
  const errors: string[] = []
  page.on('pageerror', ({ message }) => errors.push(message))
  t.after(() => assert.deepEqual([foreign, errors], [[], []]))
  return { page, LEVELS }
}

/** Presses Tab until the button or the box of this name has the focus, and then the key. */
async function press(page: Page, name: string, key: string): Promise<void> {
  const hasFocus = `(document.activeElement.labels?.[0] ?? document.activeElement).textContent.trim()
    .startsWith(${JSON.stringify(name)})`
  for (let tabs = 0; tabs < 60 && !(await page.evaluate<boolean>(hasFocus)); tabs++)
    await page.keyboard.press('Tab')
  assert.ok(await page.evaluate<boolean>(hasFocus), `the keyboard reaches ${name}`)
  await page.keyboard.press(key)
}

for (const { size, colorScheme } of LOOKS)
  test(
    `a visitor wins every level without its guard and loses it with the guard, by keyboard, at ${size.width} px`,
    browserTest,
    async (t) => {
      const { page, LEVELS } = await openPage(t)
      await page.setViewportSize(size)
      await page.emulateMedia({ colorScheme })
      await page.goto(`${ORIGIN}/`)
      for (const { id, title, guard, moves: labels } of LEVELS) {
        await press(page, title, 'Enter')
        await page.getByRole('heading', { name: `Level ${id}: ${title}` }).waitFor()
        await press(page, 'Guard:', 'Space')
        const moves = WINNING_MOVES[id]?.split(' ') ?? assert.fail(`level ${id} has no moves`)
        for (const [index, name] of moves.entries()) {
          await press(page, labels[name] ?? '', 'Enter')
          await page.locator('[data-party="you"] li').nth(index).waitFor()
        }
        await page.getByRole('status').getByText('You have won.').waitFor()
        assert.ok(await page.locator('#trace').getByText('bonded').first().isVisible())
        await press(page, 'Guard:', 'Space')
        const stop = page.getByRole('status').getByRole('link', { name: `${guard.file}, line` })
        const href = await stop.first().getAttribute('href')
        assert.match(
          href ?? '',
          new RegExp(`/src/(?:[a-z]+/)*${guard.file.replace('.', '\\.')}#L\\d+$`),
        )
        const address = `#seed=1&level=${id}&guard=on&moves=${encodeURIComponent(moves.join())}`
        assert.equal(new URL(page.url()).hash, address)
        assert.equal(
          await page.evaluate('document.documentElement.scrollWidth > innerWidth'),
          false,
          `nothing in level ${id} is wider than the page`,
        )
      }
      await page.evaluate(AXE)
      const violations = await page.evaluate<
        readonly string[]
      >(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
        violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ' ' + target)))`)
      assert.deepEqual(violations, [])
    },
  )

test('a link is a report: it plays its level, seed, guard and moves', browserTest, async (t) => {
  const { page } = await openPage(t)
  await page.goto(`${ORIGIN}/#seed=a&level=4&guard=off&moves=open,relay,lure,prove,submit`)
  await page.getByRole('status').getByText('You have won.').waitFor()
  await page.goto(`${ORIGIN}/#seed=a&level=3&guard=on&moves=open,relay,submit`)
  await page.getByRole('status').getByText('no guard prevents it').waitFor()
  // What a stranger's script may be.
  await page.getByText('Your own script').click()
  for (const [script, problem] of [
    ['["open", "toString"]', 'level 3 has no move toString'],
    ['open', 'The moves are not a JSON array of names.'],
    ['{"open": 1}', 'The moves are not a JSON array of names.'],
  ] as const) {
    await page.getByLabel('Moves as JSON').fill(script)
    await page.getByRole('button', { name: 'Play the script' }).click()
    await page.getByRole('alert').getByText(problem).waitFor()
  }
  await page.getByLabel('Moves as JSON').fill('["open", "own", "submit"]')
  await page.getByRole('button', { name: 'Play the script' }).click()
  await page.getByRole('status').getByText('subject_mismatch (gate-checks.ts, line').waitFor()
})
