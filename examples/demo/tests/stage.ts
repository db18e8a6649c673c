import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContextOptions, Frame, Page } from 'playwright-core'
import { writeImage } from '../../../tests/write-image.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8')
/** One phone approves in all tests, more often in a minute than a user would. */
export const ENVIRONMENT = { BONDED_RATE_LIMITS: 'device=1200' }
/** A busy machine needs seconds for a page. */
const TIMEOUT_MS = 45_000
const LOOKS = [
  { colorScheme: 'light', forcedColors: 'none' },
  { colorScheme: 'dark', forcedColors: 'none' },
  { colorScheme: 'light', forcedColors: 'active' },
] as const

/** One tab with the bank, the phone and the activity, used by clicks only. */
export class StagePage {
  readonly page: Page
  /** What the pages reported to the console as errors. */
  readonly errors: string[] = []

  private constructor(page: Page) {
    this.page = page
    page.setDefaultTimeout(TIMEOUT_MS)
    page.on('pageerror', (error) => void this.errors.push(String(error)))
  }

  static async open(
    browser: Browser,
    address: string,
    options: BrowserContextOptions = { viewport: { width: 1360, height: 940 } },
  ): Promise<StagePage> {
    const context = await browser.newContext(options)
    const stage = new StagePage(await context.newPage())
    await stage.page.goto(address)
    return stage
  }

  /** The case of the phone, with its camera. */
  get phone() {
    return this.page.frameLocator('iframe[title="Simulated phone"]')
  }

  /** The phone page of the service, which the phone has opened. */
  get screen() {
    return this.phone.frameLocator('iframe[title="Phone page"]')
  }

  get activity() {
    return this.page.frameLocator('.demo-strip iframe')
  }

  /** Chooses a scenario by its link. */
  async choose(title: string): Promise<void> {
    // The page before may be of the same scenario, and shows it until the new one comes.
    const loaded = this.page.waitForEvent('load')
    await this.page.getByRole('link', { name: title, exact: true }).click()
    await loaded
    await this.page.locator('.demo-bar a[aria-current]', { hasText: title }).waitFor()
    // The phone has selected the scenario once its frame has loaded.
    await this.phone.locator('#phone[data-screen]').waitFor()
  }

  /** Goes on to the approval, and waits until the page shows its QR code. */
  async continueToCode(): Promise<void> {
    await this.page.click('#continue')
    await this.page.locator('#bond-container svg[role=img][viewBox]').waitFor()
  }

  /** Scans the QR code, and sets up a phone that is new. */
  async scan(): Promise<void> {
    await this.press('Scan the QR code')
    await this.screen.locator('article:is([data-screen=setup], [data-screen=request])').waitFor()
    const setUp = this.screen.locator('[data-screen=setup] button').first()
    if (await setUp.isVisible()) await setUp.click()
    await this.screen.locator('[data-screen=request]').waitFor()
  }

  /** Approves the request as a user does, who has read it to the end. */
  async approve(): Promise<void> {
    for (const part of await this.screen.locator('dd, .text li').all())
      await part.scrollIntoViewIfNeeded()
    await this.pressOnPage('Approve')
    await this.screen.locator('[data-screen=request]').waitFor({ state: 'detached' })
  }

  /** Presses a button of the phone’s case, when it appears. */
  async press(name: string): Promise<void> {
    await this.phone.getByRole('button', { name, exact: true }).click()
  }

  /** Presses a button of the phone page, when it appears. */
  async pressOnPage(name: string): Promise<void> {
    await this.screen.getByRole('button', { name, exact: true }).click()
  }

  /** Waits for a heading of the phone page, or of the camera. */
  async shows(name: string | RegExp, on = this.screen): Promise<void> {
    await on
      .getByRole('heading', { name })
      .waitFor()
      .catch(async (cause: unknown) => {
        const shown = await on.locator('main').innerText()
        throw new Error(`The phone does not show ${name}, but: ${shown}`, { cause })
      })
  }

  /** Waits for what the bank says about the application. */
  async outcome(outcome: string): Promise<string> {
    await this.page.locator(`#result[data-outcome="${outcome}"]`).waitFor()
    return this.page.locator('#result').innerText()
  }

  /** Asserts that no frame violates a rule of axe in light, dark and forced colors. */
  async assertAccessible(state: string): Promise<void> {
    for (const [index, look] of LOOKS.entries()) {
      await this.page.emulateMedia(look)
      // A look changes colors only. Each frame is in the list, so none is read for its parent too.
      const options = { resultTypes: ['violations'], iframes: false }
      const wanted =
        index === 0 ? options : { ...options, runOnly: ['color-contrast', 'link-in-text-block'] }
      for (const frame of this.page.frames()) {
        if (!(await frame.evaluate('"axe" in globalThis'))) await frame.evaluate(AXE)
        const found = await frame.evaluate(`axe
          .run(document, ${JSON.stringify(wanted)})
          .then(({ violations }) => violations.flatMap(({ id, nodes }) =>
            nodes.map(({ failureSummary, target }) => id + ' at ' + target + ': ' + failureSummary)))`)
        const where = `${state}, ${look.colorScheme}, forced ${look.forcedColors}, ${frame.url()}`
        assert.deepEqual(found, [], where)
      }
    }
    await this.page.emulateMedia({ colorScheme: 'light', forcedColors: 'none' })
  }

  /** Asserts that no frame is wider than its window. */
  async assertFits(): Promise<void> {
    for (const frame of this.page.frames()) {
      const excess = await frame
        .evaluate<number>('document.documentElement.scrollWidth - innerWidth')
        .catch((failure: unknown) => {
          // The widget and the phone end frames of their own while the page stays.
          if (frame.isDetached()) return 0
          throw failure
        })
      assert.ok(excess <= 0, `${frame.url()} is ${excess} px too wide`)
    }
  }

  /**
   * Waits until the window shows the whole phone. The page scrolls to it when it learns what the
   * phone has learned, and a click that waits for its button scrolls too, so ask before the click.
   */
  async assertPhoneInView(): Promise<void> {
    await this.page.evaluate(`new Promise((resolve, reject) => {
      const until = performance.now() + ${TIMEOUT_MS}
      const look = () => {
        const { top, bottom } = document.querySelector('.demo-phone iframe').getBoundingClientRect()
        if (top >= 0 && bottom <= innerHeight) resolve()
        else if (performance.now() < until) requestAnimationFrame(look)
        else reject(new Error('the phone is from ' + top + ' to ' + bottom + ' of ' + innerHeight))
      }
      look()
    })`)
  }

  /** Moves the focus with the Tab key until the expression is true in the frame. */
  async tabTo(frame: Frame, isFocused: string): Promise<void> {
    for (let presses = 0; presses < 60; presses++) {
      if (await frame.evaluate(`document.hasFocus() && (${isFocused})`)) return
      await this.page.keyboard.press('Tab')
    }
    assert.fail(`the Tab key does not reach ${isFocused}`)
  }

  /** Writes an image of the README, when the run is asked to. */
  picture(name: string, height?: number): Promise<void> {
    return writeImage(this.page, name, height)
  }

  async close(): Promise<void> {
    assert.deepEqual(this.errors, [], 'no script of a page failed')
    await this.page.context().close()
  }
}
