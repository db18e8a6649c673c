import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { browserMissing } from '../../../tests/browser.ts'
import { installSensors } from './motion-driver.ts'
import { screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

const browserTest = { skip: browserMissing, timeout: 600_000 }
let sandbox: Sandbox
before(async () => {
  if (!browserMissing) sandbox = await Sandbox.start()
})
after(async () => sandbox?.[Symbol.asyncDispose]())

/** Presses Tab, and expects the focus on a button that shows it. */
async function tab(page: Page, expected: string): Promise<void> {
  await page.keyboard.press('Tab')
  const [text, ring] = await page.evaluate<[string, number]>(`(() => {
    const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement)
    return [document.activeElement.textContent, outlineStyle === 'none' ? 0 : parseFloat(outlineWidth)]
  })()`)
  assert.equal(text, expected)
  assert.ok(ring >= 1, `${expected} shows no focus`)
}

/** Expects the focus on the heading of the screen, which a screen reader then announces. */
async function isAtHeading(page: Page, name: string): Promise<void> {
  await screen(page, name)
  assert.equal(await page.evaluate('document.activeElement.tagName'), 'H1')
}

test('works by keyboard only, and shows the focus', browserTest, async () => {
  const { page } = await sandbox.phone({}, { hasTouch: true })
  await installSensors(page, 'granted')
  await page.goto((await sandbox.create()).universal_link)
  await isAtHeading(page, 'setup')
  await tab(page, 'Set up this phone')
  await page.keyboard.press('Enter')
  await isAtHeading(page, 'request')
  await tab(page, 'Approve')
  await tab(page, 'This wasn’t me')
  await tab(page, 'Decline')
  await page.keyboard.press('Enter')
  await isAtHeading(page, 'ended')

  await page.goto((await sandbox.create()).universal_link)
  await isAtHeading(page, 'request')
  await tab(page, 'Approve')
  await page.getByRole('button', { name: 'Approve', disabled: false }).waitFor()
  await page.keyboard.press('Enter')
  await isAtHeading(page, 'approved')
})
