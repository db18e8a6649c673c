import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { browserMissing } from '../../browser.ts'
import { Desk, realBrowser, screen } from '../harness/desk.ts'

let desk: Desk
before(async () => {
  if (!browserMissing) desk = await Desk.start()
})
after(() => desk?.[Symbol.asyncDispose]())

/** Presses the button of a form between other controls, and waits for the QR code. */
async function apply(colorScheme: 'light' | 'dark'): Promise<Page> {
  const page = await desk.visit()
  await page.emulateMedia({ colorScheme })
  await page.evaluate(`
    const button = document.createElement('button')
    button.addEventListener('click', () => apply())
    const link = document.createElement('a')
    Object.assign(link, { href: '#terms', textContent: 'Terms' })
    document.querySelector('main').prepend(button)
    document.querySelector('main').append(link)`)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.locator('.qr').waitFor()
  return page
}

/** The text or class of the focused element, also inside the widget. */
function focused(page: Page): Promise<string> {
  return page.evaluate(`(() => {
    let { activeElement: element } = document
    while (element.shadowRoot?.activeElement) element = element.shadowRoot.activeElement
    return /^(A|BUTTON)$/.test(element.tagName) ? element.textContent : element.className || element.tagName
  })()`)
}

/** Presses a key, and expects the focus on an element that shows it. */
async function press(page: Page, key: string, expected: string): Promise<void> {
  await page.keyboard.press(key)
  assert.equal(await focused(page), expected, `after ${key}`)
  const ring = await page.evaluate(`(() => {
    let { activeElement: element } = document
    while (element.shadowRoot?.activeElement) element = element.shadowRoot.activeElement
    const { outlineStyle, outlineWidth } = getComputedStyle(element)
    return outlineStyle === 'none' ? 0 : Number.parseFloat(outlineWidth)
  })()`)
  assert.ok(Number(ring) >= 1, `${expected} shows no focus`)
}

for (const scheme of ['light', 'dark'] as const)
  test(`works by keyboard only, and shows the focus, in ${scheme}`, realBrowser, async () => {
    const page = await apply(scheme)
    assert.equal(await focused(page), 'card', 'the work continues in the widget')
    await press(page, 'Tab', 'Cancel')
    await press(page, 'Tab', 'Help')
    await press(page, 'Tab', 'Terms')
    await press(page, 'Shift+Tab', 'Help')

    await press(page, 'Enter', 'Copy link')
    await press(page, 'Tab', 'Open on this device')
    await press(page, 'Tab', 'Close')
    await press(page, 'Enter', 'Help')
    await page.keyboard.press('Enter')
    await press(page, 'Escape', 'Help')

    await press(page, 'Shift+Tab', 'Cancel')
    await page.keyboard.press('Enter')
    await screen(page, 'killed')
    assert.equal((await desk.outcome(page)).reason, 'canceled')
    assert.equal(await focused(page), 'card', 'the button has gone')
    await press(page, 'Tab', 'Try again')
    await page.keyboard.press('Enter')
    await page.locator('.qr').waitFor()
    assert.equal(await focused(page), 'card')
    await desk.reach('bonded')
    await screen(page, 'bonded')
    assert.equal(await focused(page), 'card')
    await press(page, 'Tab', 'Terms')
  })
