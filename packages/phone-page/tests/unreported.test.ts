import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browserMissing } from '../../../tests/browser.ts'
import { heading, press, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

const browserTest = { skip: browserMissing, timeout: 240_000 }
/** Longer than a bond lasts. */
const LATER_MS = 16 * 60_000
/** How often the phone looks for a late report. */
const REPORT_POLL_MS = 15_000
const WORKFLOWS = [{}, { name: 'agent', actions: ['pay'], delivery: 'inbox' as const }]

test(
  'an approval without a report is shown as one, and a late report after it',
  browserTest,
  async () => {
    await using sandbox = await Sandbox.start({ workflows: WORKFLOWS })
    const session = await sandbox.create()
    const { page } = await sandbox.phone()
    await page.goto(session.universal_link)
    await press(page, 'Set up this phone')
    await screen(page, 'request')
    await press(page, 'Approve')
    await screen(page, 'approved')
    const { subject_ref } = await sandbox.stateOf(session)
    await page.clock.install()
    sandbox.advance(LATER_MS)
    await screen(page, 'unreported')
    assert.equal(await heading(page), 'Approved')
    const onPage = () => page.locator('main').innerText()
    assert.match(await onPage(), /No result was reported\./)
    await page.reload()
    await screen(page, 'unreported')
    assert.doesNotMatch(await onPage(), /start again|Nothing was approved/i)
    await sandbox.complete(session, 'in_review')
    await page.clock.runFor(REPORT_POLL_MS)
    await screen(page, 'completed')
    assert.match(await onPage(), /is reviewing it/)

    const context = { display: [{ label: 'Pay', value: '€12.00' }] }
    const asked = await sandbox.create({ workflow: 'agent', action: 'pay', subject_ref, context })
    await page.goto(`${sandbox.origin}/inbox`)
    await screen(page, 'inbox')
    await press(page, 'Open')
    await screen(page, 'list')
    await page.locator('.item').click()
    await screen(page, 'request')
    await press(page, 'Approve')
    await screen(page, 'approved')
    sandbox.advance(LATER_MS)
    await screen(page, 'unreported')
    assert.match(await onPage(), /No result was reported\./)
    assert.doesNotMatch(await onPage(), /Nothing was approved/)
    // Without an outcome, too: the action has succeeded (protocol 4).
    await sandbox.complete(asked)
    await page.clock.runFor(REPORT_POLL_MS)
    await screen(page, 'completed')
    assert.equal(await heading(page), 'Your request is complete')
  },
)
