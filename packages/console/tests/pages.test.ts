import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { browserMissing } from '../../../tests/browser.ts'
import { writeImage } from '../../../tests/write-image.ts'
import { ROUTES } from '../src/routes.ts'
import { MINUTE } from './harness.ts'
import { pagesScene, RIGHT_TO_LEFT } from './pages-scene.ts'

const browserTest = { skip: browserMissing, timeout: 600_000 }
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const WIDE = { width: 1_360, height: 900 }
const NARROW = { width: 390, height: 844 }
type Scene = Awaited<ReturnType<typeof pagesScene>>
const LOOKS = [
  { name: 'light', size: WIDE, media: { colorScheme: 'light', forcedColors: 'none' } },
  { name: 'dark', size: NARROW, media: { colorScheme: 'dark', forcedColors: 'none' } },
  { name: 'forced colors', size: WIDE, media: { colorScheme: 'dark', forcedColors: 'active' } },
] as const

test('the pages in Chromium', browserTest, async (t) => {
  const scene = await pagesScene(t)
  await t.test('every page fits its width and passes axe in each look', () => checkPages(scene))
  await t.test('a printed page has no menu, no form, and nothing to act with', () => print(scene))
  await t.test('clicks from the start page answer the questions', () => walk(scene))
  await t.test('figures are read again, until the operator must sign in again', () => live(scene))
})

async function checkPages({ page, origin, addressOf }: Scene): Promise<void> {
  const errors: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text())
  })
  for (const { path, title } of ROUTES) {
    await page.goto(origin + addressOf(path))
    assert.equal(await page.locator('h1').innerText(), title)
    for (const { name, size, media } of LOOKS) {
      await page.setViewportSize(size)
      await page.emulateMedia(media)
      assert.deepEqual(await brokenNames(page), [], `${path} ${name}`)
      for (const direction of ['rtl', 'ltr'])
        assert.deepEqual(await wide(page, direction), [], `${path} ${name} ${direction}`)
      // Wide as the first look is, but for its colors.
      const rules =
        name === 'forced colors' ? ", runOnly: ['color-contrast', 'link-in-text-block']" : ''
      assert.deepEqual(await violations(page, rules), [], `${path} ${name}`)
    }
  }
  // The policy of the pages has rejected nothing.
  assert.deepEqual(errors, [])
}

async function print({ page, origin, waiting }: Scene): Promise<void> {
  const acting = page.locator('header, form, button, .button, .skip').filter({ visible: true })
  for (const path of [`/sessions/${waiting.id}`, `/sessions/${waiting.id}/end`, '/health']) {
    await page.emulateMedia({ media: 'screen', forcedColors: 'none' })
    await page.goto(origin + path)
    assert.notEqual(await acting.count(), 0)
    await page.emulateMedia({ media: 'print' })
    assert.deepEqual(await acting.allInnerTexts(), [], path)
    assert.ok(await page.locator('h1').isVisible())
  }
  await page.emulateMedia({ media: 'screen' })
}

async function walk({ page, origin, session, other, phone }: Scene): Promise<void> {
  const press = (name: string) => page.getByRole('link', { name }).first().click()
  const shows = (text: string) =>
    page.locator('main').getByText(text).filter({ visible: true }).first().waitFor()
  await page.setViewportSize(WIDE)
  await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none' })
  await page.goto(origin)

  await press('Search by time and reason.')
  await shows('nonce_mismatch')
  await press('Open')
  assert.equal(new URL(page.url()).pathname, `/sessions/${session.id}`)
  await shows('What happened')
  await writeImage(page, 'console-session')

  await press('Check the receipt')
  await shows('verifies')
  await shows(RIGHT_TO_LEFT)

  await press('Start')
  await press('Open the changes')
  await shows('device block')

  // Who blocked this phone?
  await press('Start')
  await page.getByLabel('Reference on the user’s screen').fill(phone.device_id)
  await page.keyboard.press('Enter')
  await press('Open the device')
  await press('Who did it, and why')
  await shows('device block')
  await shows('T-1')

  await press('Start')
  await press('Open the health of the flow')
  await shows('50%')
  await writeImage(page, 'console-health')
  // An earlier hour, after which everything may work again.
  await page.locator('.dense tbody a').last().click()
  await shows('By tenant and workflow: the two hours until')
  // The tenant with the most failures is first.
  await page.locator('tbody a').first().click()
  await shows('Show all tenants')
  await shows('0%')
  await press('Last 52 weeks')
  await shows('By week, in UTC')
  assert.equal(new URL(page.url()).searchParams.get('tenant'), other.tenant.id)
}

async function live({ page, origin, h, advance }: Scene): Promise<void> {
  // Only this test moves the time of the page.
  await page.clock.install()
  await page.goto(`${origin}/health`)
  const created = page.locator('figure', { hasText: 'Created' }).locator('b').first()
  const before = Number(await created.innerText())
  for (const count of [1, 2]) {
    await h.create()
    await page.clock.runFor(30_000)
    await created.getByText(String(before + count), { exact: true }).waitFor()
  }
  // One read without an answer, and one with an error of a proxy.
  const late = page.getByText(/^Not up to date since \d.*: the console does not answer\./)
  await page.route('**/health', (route) => route.abort(), { times: 1 })
  await page.clock.runFor(30_000)
  await late.waitFor()
  await page.clock.runFor(30_000)
  await late.waitFor({ state: 'detached' })
  const html = { status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>' }
  await page.route('**/health', (route) => route.fulfill(html), { times: 1 })
  await page.clock.runFor(30_000)
  await late.waitFor()
  await h.create()
  await page.clock.runFor(30_000)
  await created.getByText(String(before + 3), { exact: true }).waitFor()
  assert.equal(await late.count(), 0)
  // From now on the provider must confirm the groups of the operator.
  advance(10 * MINUTE)
  await page.clock.runFor(30_000)
  await page.getByText('The figures are not updated any more.').waitFor()
}

/** The words of names in a table that take two lines, unless they are longer than words are. */
function brokenNames(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(`{
    const texts = [...document.querySelectorAll('td code:not(.id), td .name, td .name bdi')]
      .flatMap((name) => [...name.childNodes].filter(({ nodeType }) => nodeType === 3))
    texts.flatMap((text) =>
      [...text.data.matchAll(/\\S+/g)].flatMap(({ 0: word, index }) => {
        const range = document.createRange()
        range.setStart(text, index)
        range.setEnd(text, index + word.length)
        const lines = new Set([...range.getClientRects()].map(({ top }) => top))
        return lines.size > 1 && word.length <= 20 ? [word] : []
      }))
  }`)
}

/** What is wider than the page or than its own box, with the document in this direction. */
function wide(page: Page, direction: string): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(`{
    document.documentElement.dir = '${direction}'
    ;[...document.querySelectorAll('html, body *')]
      .filter((each) => each.clientWidth > 0 && each.scrollWidth > each.clientWidth + 1)
      .filter((each) => each.localName === 'html' || getComputedStyle(each).overflowX === 'auto')
      .map((each) => each.localName + '.' + each.className + ' ' + each.scrollWidth)
  }`)
}

async function violations(page: Page, rules: string): Promise<readonly string[]> {
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(AXE)
  return page.evaluate<
    readonly string[]
  >(`axe.run(document, { resultTypes: ['violations']${rules} })
    .then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => id + ' ' + target)))`)
}
