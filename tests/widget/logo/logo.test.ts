import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { setLogo } from '../../../packages/core/src/operations/admin/tenant-logo.ts'
import { browserMissing } from '../../browser.ts'
import { png } from '../../png.ts'
import { Desk, realBrowser } from '../harness/desk.ts'

/** 300 × 100 px, larger than the widget draws it. */
const WIDE = png(300, 100)

let desk: Desk
before(async () => {
  if (!browserMissing) desk = await Desk.start()
})
after(() => desk?.[Symbol.asyncDispose]())

const storeLogo = (logo: Buffer) => setLogo(desk.service.service, desk.bank.tenant.id, logo)

/** The size at which the logo is drawn, and that of its picture. */
function drawnLogo(page: Page): Promise<unknown> {
  return page.locator('.logo').evaluate(async (node) => {
    const image = node as unknown as Record<string, number> & { decode(): Promise<void> }
    await image.decode()
    return [image['naturalWidth'], Number(image['height']) <= 24, Number(image['width']) > 0]
  })
}

test('draws the logo of the tenant beside its name, small', realBrowser, async () => {
  await storeLogo(WIDE)
  const page = await desk.open()
  assert.deepEqual(await drawnLogo(page), [300, true, true])
  await page.locator('.brand', { hasText: 'Bank' }).waitFor()
})

test('shows only the name when the logo cannot be loaded', realBrowser, async () => {
  await storeLogo(WIDE)
  const context = await desk.newContext()
  await context.route('**/v1/logos/*', (route) => route.abort())
  const page = await desk.open({}, { context })
  await page.locator('.brand', { hasText: 'Bank' }).waitFor()
  await page.locator('.logo').waitFor({ state: 'detached' })
})
