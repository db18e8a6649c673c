import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserMissing } from '../../../tests/browser.ts'
import { DescribedBackend, openDescribedSite, SITE } from './described-site.ts'
import { heading, press, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

const browserTest = { skip: browserMissing, timeout: 240_000 }
let sandbox: Sandbox
let backend: DescribedBackend
before(async () => {
  if (browserMissing) return
  sandbox = await Sandbox.start({ site: SITE })
  backend = new DescribedBackend(sandbox)
})
after(async () => sandbox?.[Symbol.asyncDispose]())

test(
  'a suspension shows on the page and on each phone in words, and what is bonded completes',
  browserTest,
  async () => {
    const site = await openDescribedSite(sandbox, backend)
    const session = await site.created
    const other = await sandbox.create()
    const bonded = await sandbox.create()
    const [open, late, approved] = await Promise.all([
      sandbox.phone(),
      sandbox.phone({}, { locale: 'de-DE' }),
      sandbox.phone(),
    ])
    await open.open(session)
    await late.open(other)
    await approved.open(bonded)
    await press(approved.page, 'Approve')
    await screen(approved.page, 'approved')

    await sandbox.suspend()
    await screen(open.page, 'ended')
    assert.equal(await heading(open.page), 'No approvals at the moment')
    const words = await open.page.locator('main').innerText()
    assert.match(words, /cannot receive approvals now\. Nothing was approved\./)
    await screen(late.page, 'ended')
    assert.equal(await heading(late.page), 'Zurzeit keine Freigaben')
    await site.page.locator('.card[data-screen=not_set_up]').waitFor()
    const card = await site.page.locator('.card').innerText()
    assert.match(card, /cannot ask your phone for confirmation\. Nothing was approved\./)
    const { outcome, verdict } = await site.result()
    assert.deepEqual(outcome, { state: 'killed', sessionId: null, reason: 'suspended' })
    assert.deepEqual(verdict, ['reject: no session id'])

    // The link again, as a user opens it who has just scanned the code.
    await open.page.goto(other.universal_link)
    await screen(open.page, 'ended')
    assert.equal(await heading(open.page), 'No approvals at the moment')

    const fresh = await sandbox.phone()
    await fresh.page.goto(other.universal_link)
    await screen(fresh.page, 'ended')
    assert.equal(await heading(fresh.page), 'No approvals at the moment')

    await sandbox.complete(bonded)
    await screen(approved.page, 'completed')
    for (const { context } of [open, late, approved, fresh]) await context.close()
  },
)
