import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { browserMissing, openBrowser } from '../../../tests/browser.ts'
import { npmStart } from '../../../tests/npm-start.ts'
import { ENVIRONMENT, StagePage } from './stage.ts'
import { isWritingImages } from '../../../tests/write-image.ts'

const inBrowser = { skip: browserMissing, timeout: 240_000 }
/** The service makes an agent wait for a minute after a decline. */
const AFTER_THE_WAIT_MS = 120_000
let sandbox: Awaited<ReturnType<typeof npmStart>>
let browser: Browser

before(async () => {
  if (browserMissing) return
  sandbox = await npmStart({ withDefaultPorts: isWritingImages, env: ENVIRONMENT })
  browser = await openBrowser()
})
after(async () => {
  await browser?.close()
  await sandbox?.[Symbol.asyncDispose]()
})

/** Opens a scenario of the agent with a phone that is new. */
async function open(title: string, options?: Parameters<typeof StagePage.open>[2]) {
  const stage = await StagePage.open(browser, sandbox.bank, options)
  await stage.choose(title)
  return stage
}

async function enroll(stage: StagePage) {
  await stage.press('Enroll this phone')
  await stage.pressOnPage('Set up this phone')
  await stage.shows('Harbour Bank (demo) asks for your approval')
  await stage.approve()
}

async function openRequest(stage: StagePage) {
  await stage.press('Open the inbox')
  await stage.pressOnPage('Open')
  await stage.screen.getByRole('button', { name: /Invoice agent/ }).click()
  await stage.shows('Harbour Bank (demo) asks for your approval')
}

const run = (stage: StagePage) => stage.page.getByRole('button', { name: 'Run the agent' }).click()
const result = (stage: StagePage, title: string) =>
  stage.page.locator('#result').getByRole('heading', { name: title }).waitFor()
const says = (stage: StagePage, text: string | RegExp) =>
  stage.page.locator('#lines').getByText(text).waitFor()

test(
  'agent pays: the phone shows the whole call, it runs once, and the receipt is verified',
  inBrowser,
  async () => {
    const stage = await open('Agent pays')
    await stage.assertAccessible('before the run')
    await run(stage)
    await enroll(stage)
    await stage.shows('A request is waiting', stage.phone)
    await stage.assertAccessible('waiting')
    await openRequest(stage)
    for (const text of ['Invoice agent', '€1,250.00', 'Payment by your agent'])
      await stage.screen.getByText(text, { exact: true }).waitFor()
    const shown = await stage.screen.locator('.text').innerText()
    assert.match(shown, /"amount_eur": 1250,[^]*"iban": "DE02 1203 0000 0000 2020 51",/)
    await stage.assertAccessible('request')
    // Without the activity, whose text would make the image too large.
    await stage.picture('demo-agent', 790)
    await stage.approve()
    await result(stage, 'Paid once, exactly as approved')
    await says(stage, 'sent: €1,250.00 to Nordlicht Energie GmbH. The approval is used up.')
    const receipt = await stage.page.locator('#receipt').innerText()
    for (const part of [
      /Invoice agent \(agent\)/,
      /both verified/,
      /"iban": "DE02 1203 0000 0000 2020 51"/,
    ])
      assert.match(receipt, part)
    await stage.shows('Your request is complete')
    await stage.activity.getByText('fetches the receipt').first().waitFor()
    await stage.assertAccessible('paid')

    // The bank knows this phone now.
    await run(stage)
    await openRequest(stage)
    await stage.page.reload()
    await stage.page.getByRole('button', { name: 'Running…' }).waitFor()
    await openRequest(stage)
    await stage.approve()
    await result(stage, 'Paid once, exactly as approved')
    await stage.close()
  },
)

test('agent changes the amount: the call that was not approved never runs', inBrowser, async () => {
  const stage = await open('Agent changes the amount')
  await run(stage)
  await enroll(stage)
  await openRequest(stage)
  await stage.screen.getByText('€1,250.00', { exact: true }).waitFor()
  await stage.approve()
  await result(stage, 'Stopped: you approved €1,250.00, not €12,500.00')
  await says(stage, 'not_approved (context_mismatch): nothing was sent.')
  assert.equal(await stage.page.locator('#lines').getByText('sent: ').count(), 0)
  assert.ok(await stage.page.locator('#receipt').isHidden())
  await stage.shows(/canceled/i)
  await stage.assertAccessible('amount changed')
  await stage.close()
})

test(
  'agent’s own phone: it sees no request, opens none, and the user decides',
  inBrowser,
  async () => {
    const stage = await open('Agent’s own phone')
    await run(stage)
    await enroll(stage)
    await result(stage, 'Stopped: the agent’s phone cannot approve for you')
    await says(stage, 'Its inbox has 0 requests: this one names you.')
    await says(stage, 'refused (nonce_mismatch): only a phone of yours gets its nonce.')
    await stage.assertAccessible('own phone')
    await openRequest(stage)
    await stage.pressOnPage('Decline')
    await stage.pressOnPage('Decline')
    await stage.page.getByText('The request is declined: nothing was paid.').waitFor()
    await says(stage, 'declined: nothing was sent.')

    // An agent cannot wear the user down.
    await run(stage)
    await says(stage, 'rate_limited')
    await stage.close()
  },
)

for (const [name, viewport] of Object.entries({
  '390 px': { width: 390, height: 844 },
  '360 × 560': { width: 360, height: 560 },
}))
  test(`the agent fits and works at ${name}`, inBrowser, async () => {
    const stage = await open('Agent pays', { viewport })
    await stage.assertFits()
    await run(stage)
    await stage.shows('Your bank’s app opens a request', stage.phone)
    await stage.assertPhoneInView()
    await enroll(stage)
    await stage.shows('A request is waiting', stage.phone)
    await stage.assertPhoneInView()
    await openRequest(stage)
    await stage.assertFits()
    await stage.approve()
    await result(stage, 'Paid once, exactly as approved')
    await stage.assertFits()
    await stage.close()
  })

async function openOfTwo(stage: StagePage, amount: string) {
  await openRequest(stage)
  await stage.screen.getByText(amount, { exact: true }).waitFor()
  await stage.screen.getByText('2 of 2 people must approve').first().waitFor()
}

/** Runs the agent with a phone that is new, and opens the request of too much. */
async function openTooMuch(options?: Parameters<typeof StagePage.open>[2]) {
  const stage = await open('Two people decide', options)
  await run(stage)
  await enroll(stage)
  await openOfTwo(stage, '€12,500.00')
  await stage.assertFits()
  return stage
}

/** Waits as long as the service makes the agent wait, and approves what is owed. */
async function approveAgain(stage: StagePage) {
  const waiting = stage.phone.getByRole('heading', { name: 'A request is waiting' })
  await waiting.waitFor({ timeout: AFTER_THE_WAIT_MS })
  await stage.assertPhoneInView()
  await openOfTwo(stage, '€1,250.00')
  await stage.approve()
  await result(stage, 'Paid once, after two people approved')
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
