import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { browserMissing, openBrowser } from '../../../tests/browser.ts'
import { npmStart } from '../../../tests/npm-start.ts'
import { ENVIRONMENT, StagePage } from './stage.ts'

const inBrowser = { skip: browserMissing, timeout: 240_000 }
/** The service makes the agent wait for a minute. */
const AFTER_THE_WAIT_MS = 120_000
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

const says = (stage: StagePage, text: string | RegExp) =>
  stage.page.locator('#lines').getByText(text).waitFor()

async function openRequest(stage: StagePage, amount: string) {
  await stage.press('Open the inbox')
  await stage.pressOnPage('Open')
  await stage.screen.getByRole('button', { name: /Invoice agent/ }).click()
  await stage.shows('Harbour Bank (demo) asks for your approval')
  await stage.screen.getByText(amount, { exact: true }).waitFor()
  await stage.screen.getByText('2 of 2 people must approve').first().waitFor()
}

/** Runs the agent with a phone that is new, and opens the request of too much. */
async function openTooMuch(options?: Parameters<typeof StagePage.open>[2]) {
  const stage = await StagePage.open(browser, sandbox.bank, options)
  await stage.choose('Two people decide')
  await stage.page.getByRole('button', { name: 'Run the agent' }).click()
  await stage.press('Enroll this phone')
  await stage.pressOnPage('Set up this phone')
  await stage.shows('Harbour Bank (demo) asks for your approval')
  await stage.approve()
  await openRequest(stage, '€12,500.00')
  await stage.assertFits()
  return stage
}

/** Waits as long as the service makes the agent wait, and approves what is owed. */
async function approveAgain(stage: StagePage) {
  const waiting = stage.phone.getByRole('heading', { name: 'A request is waiting' })
  await waiting.waitFor({ timeout: AFTER_THE_WAIT_MS })
  await stage.assertPhoneInView()
  await openRequest(stage, '€1,250.00')
  await stage.approve()
  await stage.page.getByRole('heading', { name: 'Paid once, after two people approved' }).waitFor()
}

test(
  'two people: one declines and says why, and both approve what is owed',
  inBrowser,
  async () => {
    const stage = await openTooMuch()
    await stage.approve()
    await says(stage, 'not_approved (too_few_approvals): nothing was sent.')
    await says(stage, 'declined: nothing was sent. The reason: “The invoice is for €1,250.00.”')
    await says(stage, /^Service rate_limited: ask again in \d+ s\.$/)
    await stage.page
      .getByRole('heading', { name: /^The agent waits until \d\d:\d\d:\d\d$/ })
      .waitFor()
    await stage.assertAccessible('waiting')
    assert.equal(await stage.page.locator('#lines').getByText('sent: ').count(), 0)
    await approveAgain(stage)
    await says(stage, 'sent: €1,250.00 to Nordlicht Energie GmbH. Both approvals are used up.')
    const receipt = await stage.page.locator('#receipt').innerText()
    assert.equal(receipt.match(/^Approved$/gm)?.length, 2)
    assert.match(receipt, /Two phones and the service, all verified/)
    await stage.assertAccessible('paid by two')
    await stage.close()
  },
)

test('at 390 px, the user declines and says why', inBrowser, async () => {
  const stage = await openTooMuch({ viewport: { width: 390, height: 844 } })
  await stage.pressOnPage('Decline')
  await stage.screen.getByRole('textbox', { name: 'Why do you decline?' }).fill('Too much.')
  await stage.pressOnPage('Decline')
  await says(stage, 'declined: nothing was sent. The reason: “Too much.”')
  await says(stage, 'rate_limited')
  await stage.assertFits()
  await approveAgain(stage)
  await stage.assertFits()
  await stage.close()
})
