import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { browserMissing, openBrowser } from '../../../tests/browser.ts'
import { npmStart } from '../../../tests/npm-start.ts'
import { ENVIRONMENT, StagePage } from './stage.ts'
import { isWritingImages } from '../../../tests/write-image.ts'

const inBrowser = { skip: browserMissing, timeout: 240_000 }
let sandbox: Awaited<ReturnType<typeof npmStart>>
let browser: Browser
/** Opened first, because its request takes a minute to expire. */
let expiring: StagePage

before(async () => {
  if (browserMissing) return
  sandbox = await npmStart({ withDefaultPorts: isWritingImages, env: ENVIRONMENT })
  browser = await openBrowser()
})
after(async () => {
  await browser?.close()
  await sandbox?.[Symbol.asyncDispose]()
})

const open = (options?: Parameters<typeof StagePage.open>[2]) =>
  StagePage.open(browser, sandbox.bank, options)

test('expired: the request of one minute begins', inBrowser, async () => {
  expiring = await open()
  await expiring.choose('Expired')
  await expiring.page.click('#continue')
  await expiring.shows('A QR code is on the page', expiring.phone)
})

test(
  'normal: the phone shows what it received, approves, and the bank accepts',
  inBrowser,
  async () => {
    const stage = await open()
    await stage.choose('Normal')
    await stage.assertAccessible('start')
    assert.equal(await stage.page.inputValue('#amount'), '€12,500', 'written as on the phone')
    await stage.continueToCode()
    await stage.shows('A QR code is on the page', stage.phone)
    await stage.picture('demo-code')
    await stage.press('Scan the QR code')
    await stage.screen.locator('[data-screen=setup]').waitFor()
    await stage.assertAccessible('setup')
    await stage.pressOnPage('Set up this phone')
    await stage.screen.locator('[data-screen=request]').waitFor()
    await stage.shows('Harbour Bank (demo) asks for your approval')
    for (const text of ['€12,500', '36 months', 'Ada Lovelace', sandbox.bank])
      await stage.screen.getByText(text, { exact: true }).waitFor()
    await stage.assertAccessible('request')
    // Without the activity, whose text would make the image too large.
    await stage.picture('demo-request', 772)
    await stage.approve()
    assert.match(await stage.outcome('accepted'), /Application received: L-\d{6}/)
    await stage.shows(/Your request (?:is complete|was received)/)
    for (const call of [
      'Bank → POST /api/v1/sessions: accepted',
      'Phone → POST /api/v1/attestations: accepted, the session is bonded',
      'Bank → POST /api/v1/sessions/{session_id}/form-completed: accepted, the session is completed',
    ])
      await stage.activity.getByText(call).first().waitFor()
    await stage.assertAccessible('completed')
    await stage.page.getByRole('link', { name: 'Start again' }).click()
    await stage.continueToCode()
    await stage.shows('A QR code is on the page', stage.phone)
    await stage.close()
  },
)

test(
  'review: the bank sends an application with weak motion to an employee',
  inBrowser,
  async () => {
    const stage = await open()
    await stage.choose('Review')
    await stage.continueToCode()
    await stage.scan()
    await stage.approve()
    assert.match(await stage.outcome('in_review'), /in review/)
    await stage.activity.getByText('its gate has doubts about the evidence').first().waitFor()
    await stage.assertAccessible('review')
    await stage.close()
  },
)

test('step-up: the service asks a phone on a table to be picked up', inBrowser, async () => {
  const stage = await open()
  await stage.choose('Step-up')
  await stage.continueToCode()
  await stage.scan()
  await stage.approve()
  await stage.shows('Keep your phone in your hand')
  await stage.activity.getByText('the session is step up required').first().waitFor()
  await stage.assertAccessible('step-up')
  await stage.press('Pick up the phone')
  await stage.pressOnPage('Continue')
  await stage.outcome('accepted')
  await stage.close()
})

test('declined: the page ends, and the bank stores nothing', inBrowser, async () => {
  const stage = await open()
  await stage.choose('Declined')
  await stage.continueToCode()
  await stage.scan()
  await stage.pressOnPage('Decline')
  assert.match(await stage.outcome('refused'), /You declined on your phone\. Nothing was sent\./)
  await stage.shows('Declined')
  await stage.assertAccessible('declined')
  await stage.close()
})

test(
  'not me: the bank says so in its own words, records a report and ends the login',
  inBrowser,
  async () => {
    const stage = await open()
    await stage.choose('Not me')
    await stage.continueToCode()
    await stage.scan()
    await stage.pressOnPage('This wasn’t me')
    const text = await stage.outcome('reported')
    assert.match(text, /your phone says this was not you/)
    assert.match(text, /deleted this form, recorded report R-\d{6}, and ended this login/)
    assert.ok(await stage.page.locator('#application-form').isHidden(), 'the form is gone')
    await stage.activity.getByText('deletes the form, and ends the login').first().waitFor()
    await stage.assertAccessible('reported')
    await stage.page.getByRole('link', { name: 'It was me: start over' }).click()
    await stage.page.locator('#continue').waitFor()
    await stage.close()
  },
)

test(
  'bonded browser: the phone’s passkey confirms in the bank’s page, and the bank accepts',
  inBrowser,
  async () => {
    const stage = await open()
    await stage.choose('Bonded browser')
    await stage.continueToCode()
    await stage.scan()
    await stage.approve()
    await stage.shows(/Now confirm on the computer/)
    await stage.assertAccessible('confirm on the computer')
    await stage.page.getByRole('button', { name: 'Confirm on this computer' }).click()
    assert.match(await stage.outcome('accepted'), /Application received: L-\d{6}/)
    await stage.shows(/Your request (?:is complete|was received)/)
    await stage.activity.getByText('sends the signature of a passkey').first().waitFor()
    await stage.assertAccessible('completed with the browser')

    // Another scenario’s page asks the browser itself, which has no passkey.
    await stage.choose('Normal')
    const isOwn = await stage.page.evaluate('Object.hasOwn(navigator.credentials, "get")')
    assert.equal(isOwn, false)
    await stage.close()
  },
)

test(
  'attack, noticed: the phone shows the other amount, and the gate rejects the attacker',
  inBrowser,
  async () => {
    const stage = await open()
    await stage.choose('Attacked by a relaying page')
    assert.notEqual(new URL(stage.page.url()).origin, sandbox.bank)
    await stage.page.click('#continue')
    await stage.page.locator('#attempts-phone').getByText('origin_not_allowed').waitFor()
    await stage.page.locator('#copied img').waitFor()
    await stage.scan()
    await stage.screen.getByText('€50,000').waitFor()
    await stage.screen.getByText(sandbox.bank, { exact: true }).waitFor()
    await stage.assertAccessible('attack')
    await stage.picture('demo-attack')
    await stage.pressOnPage('This wasn’t me')
    await stage.page.getByRole('heading', { name: 'The attack was stopped' }).waitFor()
    await stage.page.locator('#attempts-phone').getByText('session_not_bonded').waitFor()
    await stage.assertAccessible('attack stopped')
    await stage.close()
  },
)

test(
  'attack, approved: a bond does not stop it, and the bonded browser beside it does',
  inBrowser,
  async () => {
    const stage = await open()
    await stage.choose('Attacked by a relaying page')
    await stage.page.click('#continue')
    await stage.page.locator('#copied img').waitFor()
    await stage.scan()
    await stage.approve()
    await stage.page.getByRole('heading', { name: 'The attack succeeded' }).waitFor()
    const reasonsOf = async (run: string) =>
      (await stage.page.locator(`#attempts-${run} li`).allInnerTexts()).map(
        (attempt) => /\((\w+)\)|: accepted/.exec(attempt)?.[1] ?? 'accepted',
      )
    const bond = ['origin_not_allowed', 'context_mismatch', 'accepted']
    assert.deepEqual(await reasonsOf('phone'), bond)

    await stage.page.getByRole('button', { name: 'Attack the bonded browser' }).click()
    await stage.page.locator('#copied img').waitFor()
    await stage.scan()
    await stage.screen.getByText('€50,000').waitFor()
    await stage.approve()
    await stage.shows(/Now confirm on the computer/)
    await stage.page.getByRole('heading', { name: 'The attack was stopped' }).waitFor()
    assert.deepEqual(await reasonsOf('phone'), bond, 'the first run stays beside the second')
    assert.deepEqual(
      await reasonsOf('browser'),
      ['SecurityError', 'browser_proof_invalid', 'session_not_bonded'],
      'the real browser refuses the passkey first',
    )
    await stage.assertAccessible('attack stopped by the browser')
    // Without the activity, whose text would make the image too large.
    await stage.picture('demo-browser', 640)
    await stage.pressOnPage('This wasn’t me')
    await stage.shows('Request stopped')
    await stage.close()
  },
)

test(
  'service down: nothing is approved, and the same request goes on after a start',
  inBrowser,
  async () => {
    const stage = await open()
    await stage.choose('Service down')
    await stage.page.click('#continue')
    await stage.activity.getByText('The service is stopped. Nothing can be approved.').waitFor()
    await stage.press('Scan the QR code')
    await stage.shows('No connection', stage.phone)
    await stage.assertAccessible('stopped')
    await stage.press('Start the service')
    await stage.activity.getByRole('button', { name: 'Stop the service' }).waitFor()
    await stage.pressOnPage('Set up this phone')
    await stage.approve()
    await stage.outcome('accepted')
    await stage.close()
  },
)

test(
  'service stopped before the form is sent: the bank sends nothing and says so',
  inBrowser,
  async () => {
    const stage = await open()
    await stage.choose('Normal')
    await stage.activity.getByRole('button', { name: 'Stop the service' }).click()
    await stage.activity.getByRole('button', { name: 'Start the service' }).waitFor()
    await stage.page.click('#continue')
    assert.match(await stage.outcome('refused'), /Nothing was sent/)
    await stage.activity.getByRole('button', { name: 'Start the service' }).click()
    await stage.activity.getByRole('button', { name: 'Stop the service' }).waitFor()
    await stage.continueToCode()
    await stage.scan()
    await stage.approve()
    await stage.outcome('accepted')
    await stage.close()
  },
)

test(
  'reloaded: the same form continues with its session, another one does not',
  inBrowser,
  async () => {
    const stage = await open()
    await stage.choose('Normal')
    let sessions = 0
    stage.page.on('response', (response) => {
      if (response.url().endsWith('/bond-session')) sessions += 1
    })
    const code = stage.page.locator('#bond-container .qr')
    await stage.page.click('#continue')
    await code.waitFor()
    await stage.page.reload()
    await stage.page.click('#continue')
    await code.waitFor()
    assert.equal(sessions, 1)
    await stage.page.reload()
    await stage.page.fill('#income', '9000')
    await stage.page.click('#continue')
    await code.waitFor()
    assert.equal(sessions, 2, 'a value that the phone does not show counts too')
    await stage.close()
  },
)

test('another scenario begins with a phone that shows nothing', inBrowser, async () => {
  const stage = await open()
  await stage.choose('Normal')
  await stage.continueToCode()
  await stage.scan()
  await stage.page.reload()
  await stage.shows('A QR code is on the page', stage.phone)
  await stage.choose('Review')
  await stage.shows('Ready to scan', stage.phone)
  await stage.continueToCode()
  // The phone is set up, and the request of the scenario before is not the one that it opens.
  await stage.press('Scan the QR code')
  await stage.screen.locator('[data-screen=request]').waitFor()
  await stage.approve()
  await stage.outcome('in_review')
  await stage.shows(/received/)
  await stage.pressOnPage('Close')
  await stage.shows('Ready to scan', stage.phone)
  await stage.close()
})

test('writes a changed amount as the phone shows it', inBrowser, async () => {
  const stage = await open()
  await stage.choose('Normal')
  for (const [typed, shown] of [
    ['9500', '€9,500'],
    ['€ 12 500', '€12,500'],
    ['1,2', '1,2'],
    ['a lot', 'a lot'],
  ] as const) {
    await stage.page.fill('#amount', typed)
    await stage.page.press('#amount', 'Tab')
    assert.equal(await stage.page.inputValue('#amount'), shown)
  }
  await stage.close()
})

test('expired: after a minute the QR code is gone, and nothing was sent', inBrowser, async () => {
  await expiring.page.locator('#result[data-outcome="refused"]').waitFor({ timeout: 90_000 })
  assert.match(await expiring.outcome('refused'), /Nothing was sent/)
  await expiring.assertAccessible('expired')
  await expiring.close()
})
