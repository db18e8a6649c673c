import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browserMissing } from '../../../tests/browser.ts'
import { heading, press, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

const browserTest = { skip: browserMissing, timeout: 240_000 }
/** Longer than a bond lasts. */
const LATER_MS = 16 * 60_000
const WORKFLOWS = [{}, { name: 'agent', actions: ['pay'], delivery: 'inbox' as const }]

test('an approval that no backend reported on is shown as one', browserTest, async () => {
  await using sandbox = await Sandbox.start({ workflows: WORKFLOWS })
  const session = await sandbox.create()
  const { page } = await sandbox.phone()
  await page.goto(session.universal_link)
  await press(page, 'Set up this phone')
  await screen(page, 'request')
  await press(page, 'Approve')
  await screen(page, 'approved')
  const { subject_ref } = await sandbox.stateOf(session)
  sandbox.advance(LATER_MS)
  await screen(page, 'problem')
  assert.equal(await heading(page), 'This request has ended')
  const onPage = await page.locator('main').innerText()
  assert.match(onPage, /It was approved or declined, or it expired\. Return to the page to see/)

  const context = { display: [{ label: 'Pay', value: '€12.00' }] }
  await sandbox.create({ workflow: 'agent', action: 'pay', subject_ref, context })
  await page.goto(`${sandbox.origin}/inbox`)
  await screen(page, 'inbox')
  await press(page, 'Open')
  await screen(page, 'list')
  await page.locator('.item').click()
  await screen(page, 'request')
  await press(page, 'Approve')
  await screen(page, 'approved')
  sandbox.advance(LATER_MS)
  await screen(page, 'problem')
  const inInbox = await page.locator('main').innerText()
  assert.match(inInbox, /You approved this\. No result was reported\./)
  assert.doesNotMatch(inInbox, /Nothing was approved/)
})
