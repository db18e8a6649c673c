import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, FrameLocator, Page } from 'playwright-core'
import { browserMissing, openBrowser, phoneFontMissing } from '../../../tests/browser.ts'
import { npmStart } from '../../../tests/npm-start.ts'
import { ENVIRONMENT, StagePage } from './stage.ts'

const inBrowser = { skip: browserMissing, timeout: 240_000 }
let sandbox: Awaited<ReturnType<typeof npmStart>>
let browser: Browser

before(async () => {
  if (browserMissing) return
  sandbox = await npmStart({ env: ENVIRONMENT })
  browser = await openBrowser()
})
after(async () => {
  await browser?.close()
  await sandbox?.[Symbol.asyncDispose]()
})

const open = (options?: Parameters<typeof StagePage.open>[2]) =>
  StagePage.open(browser, sandbox.bank, options)

test('covers nothing with the activity at 1,360 × 900', inBrowser, async () => {
  const stage = await open({ viewport: { width: 1360, height: 900 } })
  await stage.choose('Normal')
  await stage.continueToCode()
  const boxOf = async (
    place: string,
    within: Pick<Page | FrameLocator, 'locator'> = stage.page,
  ) => {
    const box = await within.locator(place).first().boundingBox()
    assert.ok(box, place)
    return { top: box.y, bottom: box.y + box.height }
  }
  const strip = await boxOf('.demo-strip')
  assert.equal(strip.bottom, 900)
  const newest = await boxOf('#entries li', stage.activity)
  assert.ok(newest.bottom <= 900, `the newest row ends at ${newest.bottom} px`)
  for (const place of [
    '.demo-page',
    '.demo-phone iframe',
    '#continue',
    '#bond-container svg[role=img]',
  ]) {
    const { top, bottom } = await boxOf(place)
    assert.ok(top >= 0 && bottom <= strip.top, `${place} is from ${top} to ${bottom} px`)
  }
  await stage.page.locator('#status').scrollIntoViewIfNeeded()
  const last = await boxOf('#status')
  assert.ok(last.bottom <= strip.top, 'the end of the page is above the activity')
  await stage.close()
})

test('at 390 px the phone follows the form', inBrowser, async () => {
  const stage = await open({ viewport: { width: 390, height: 844 } })
  await stage.choose('Normal')
  const tops = await Promise.all(
    ['#application-form', '.demo-phone', '#approval', '.demo-strip'].map(
      async (place) => (await stage.page.locator(place).boundingBox())?.y ?? Number.NaN,
    ),
  )
  assert.deepEqual(
    tops,
    tops.toSorted((one, other) => one - other),
  )
  await stage.close()
})

test('works with the keyboard alone', inBrowser, async () => {
  const stage = await open()
  await stage.choose('Normal')
  await stage.tabTo(stage.page.mainFrame(), `document.activeElement?.id === 'continue'`)
  await stage.page.keyboard.press('Enter')
  await stage.shows('A QR code is on the page', stage.phone)
  const frameOf = async (title: string, within: Pick<Page, '$'> = stage.page) => {
    const frame = await (await within.$(`iframe[title="${title}"]`))?.contentFrame()
    assert.ok(frame)
    return frame
  }
  const phone = await frameOf('Simulated phone')
  await stage.tabTo(phone, `document.activeElement?.id === 'scan'`)
  await stage.page.keyboard.press('Enter')
  await stage.screen.locator('[data-screen=setup]').waitFor()
  const screen = await frameOf('Phone page', phone)
  const press = async (name: string) => {
    await stage.tabTo(screen, `document.activeElement?.innerText === '${name}'`)
    await stage.page.keyboard.press('Enter')
  }
  await press('Set up this phone')
  await stage.screen.locator('[data-screen=request]').waitFor()
  for (const value of await stage.screen.locator('dd').all()) await value.scrollIntoViewIfNeeded()
  await stage.screen.locator('button:not([aria-disabled])', { hasText: 'Approve' }).waitFor()
  await press('Approve')
  await stage.outcome('accepted')
  await stage.close()
})

test('fits a phone at 200 % zoom until it shows a phone itself', {
  ...inBrowser,
  skip: browserMissing || phoneFontMissing,
}, async () => {
  const stage = await open({ viewport: { width: 195, height: 640 }, deviceScaleFactor: 2 })
  await stage.choose('Normal')
  await stage.assertFits()
  await stage.continueToCode()
  await stage.assertFits()
  await stage.close()
})

for (const [name, options] of Object.entries({
  '390 px': { viewport: { width: 390, height: 844 } },
  '320 px': { viewport: { width: 320, height: 640 } },
  '200 % zoom': { viewport: { width: 680, height: 470 }, deviceScaleFactor: 2 },
}))
  test(`fits and works at ${name}`, inBrowser, async () => {
    const stage = await open(options)
    await stage.choose('Normal')
    await stage.assertFits()
    await stage.continueToCode()
    await stage.scan()
    await stage.assertFits()
    // As a user does, who sees the code above the phone.
    await stage.page.locator('.demo-phone iframe').scrollIntoViewIfNeeded()
    await stage.assertPhoneInView()
    await stage.approve()
    await stage.outcome('accepted')
    await stage.assertFits()
    await stage.choose('Attacked by a relaying page')
    await stage.page.locator('#continue').waitFor()
    await stage.assertFits()
    await stage.close()
  })
