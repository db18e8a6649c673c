import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserMissing } from '../../browser.ts'
import { Desk, realBrowser } from '../harness/desk.ts'

let desk: Desk
before(async () => {
  if (!browserMissing) desk = await Desk.start()
})
after(async () => desk?.[Symbol.asyncDispose]())

for (const [said, screen, text] of [
  ['accepted', 'completed', 'Your request is complete.'],
  ['in_review', 'in_review', 'Your request was received and is being reviewed.'],
  [null, 'completed', 'Your request is complete.'],
] as const)
  test(`repeats the outcome that the backend completes with: ${said}`, realBrowser, async () => {
    const page = await desk.open()
    await desk.reach('bonded')
    await page.locator('.card[data-screen=bonded]').waitFor()
    const { status } = await desk.service.complete(
      desk.session,
      said === null ? {} : { 'x-bond-outcome': said },
      desk.bank,
    )
    assert.equal(status, 200)
    await page.locator(`.card[data-screen=${screen}]`).waitFor()
    assert.equal(await page.locator('.body').textContent(), text)
    assert.equal(await page.locator('.retry').isVisible(), false)
  })
