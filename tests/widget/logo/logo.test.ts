import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { setLogo } from '../../../packages/core/src/operations/admin/tenant-logo.ts'
import { browserMissing } from '../../browser.ts'
import { png } from '../../png.ts'
import { Desk, realBrowser } from '../harness/desk.ts'

/** 300 × 100 px, larger than the widget draws it. */
const WIDE = png(300, 100)
/** A logo of an earlier version. */
const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="100"></svg>'

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

test('an SVG that a user opens by its address runs nothing', realBrowser, async () => {
  const logo = { name: `${'a'.repeat(22)}.svg`, bytes: Buffer.from(SVG) }
  const { store } = desk.service.service
  await store.write((tables) => tables.tenants.setLogo(desk.bank.tenant.id, logo))
  const page = await desk.open()
  const address = await page.locator('.logo').getAttribute('src')
  const opened = await page.context().newPage()
  const response = await opened.goto(String(address))
  assert.equal(response?.status(), 200)
  await opened.evaluate(`
    const script = document.createElementNS('http://www.w3.org/2000/svg', 'script')
    script.textContent = 'document.documentElement.id = "ran"'
    document.documentElement.append(script)`)
  assert.equal(await opened.evaluate('document.documentElement.id'), '')
})
