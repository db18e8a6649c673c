import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { press, screen } from '../../../packages/phone-page/tests/phone-browser.ts'
import { bundlePage } from '../../../packages/widget/tests/npm-page.ts'
import { browserMissing } from '../../browser.ts'
import { Bank, outcomeOf, shows } from './bank.ts'

/*
 * The proof of the browser with the hosted widget, the phone page and the real service. On
 * localhost, a page of another port may use the same relying party id.
 */

const browserTest = { skip: browserMissing, timeout: 600_000 }
let bank: Bank
before(async () => {
  if (!browserMissing) bank = await Bank.start()
})
after(() => bank?.[Symbol.asyncDispose]())

/** The next prompt ends as the browser reports a user who closes it. */
const cancelNext = (page: Page) =>
  page.evaluate(`{
    const { get } = CredentialsContainer.prototype
    CredentialsContainer.prototype.get = async () => {
      CredentialsContainer.prototype.get = get
      throw new DOMException('closed', 'NotAllowedError')
    }
  }`)
const confirm = (page: Page) =>
  page.getByRole('button', { name: 'Confirm on this computer' }).click()

test(
  'the phone approves, the computer confirms, and the secret reads the verification',
  browserTest,
  async () => {
    const { page, phone, close } = await bank.approved()
    await shows(page, 'browser')
    assert.equal(await page.locator('.qr').count(), 0)
    assert.equal((await bank.sandbox.stateOf(bank.session)).state, 'step_up_required')
    await confirm(page)
    const outcome = await outcomeOf(page)
    assert.deepEqual([outcome.sessionId, outcome.browserSecret?.length], [bank.session.id, 43])
    assert.equal(await bank.verificationWith(undefined), null)
    assert.equal((await bank.verificationWith(outcome.browserSecret))?.browser?.origin, bank.site)
    await screen(phone.page, 'approved')
    // The page has the secret, so the tab no longer keeps it.
    assert.equal(await page.evaluate('sessionStorage.length'), 0)
    await close()
  },
)

test('another browser that shows the same request is not bonded', browserTest, async () => {
  const { page, close } = await bank.approved()
  const other = await bank.sandbox.computer()
  await other.goto(bank.site)
  await shows(other, 'browser')
  await shows(page, 'browser')
  await confirm(page)
  const { browserSecret } = await outcomeOf(page)
  assert.deepEqual(await outcomeOf(other), {
    state: 'unavailable',
    sessionId: null,
    reason: 'confirmed_elsewhere',
  })
  await shows(other, 'elsewhere')
  await other.getByText('This request is no longer valid.').waitFor()
  // A page that is opened only now reads the same.
  await other.reload()
  assert.equal((await outcomeOf(other)).reason, 'confirmed_elsewhere')
  assert.notEqual(await bank.verificationWith(browserSecret), null)
  await other.context().close()
  await close()
})

test('a canceled prompt can be repeated', browserTest, async () => {
  const { page, close } = await bank.approved()
  await shows(page, 'browser')
  await cancelNext(page)
  await confirm(page)
  await shows(page, 'browser_again')
  await confirm(page)
  assert.equal((await outcomeOf(page)).sessionId, bank.session.id)
  await close()
})

test('a user who chose the passkey of another phone can choose again', browserTest, async () => {
  const { page, sync, forget, close } = await bank.approvedBesideOther()
  const proofs: string[] = []
  page.on('request', (request) => {
    if (request.url().endsWith('/browser')) proofs.push(request.method())
  })
  await shows(page, 'browser')
  await confirm(page)
  await shows(page, 'browser_again')
  await page.getByText('Use the passkey of the phone that approved.').waitFor()
  assert.deepEqual(proofs, [])
  await forget()
  await sync()
  await confirm(page)
  assert.equal((await outcomeOf(page)).sessionId, bank.session.id)
  await close()
})

test(
  'a reload goes on with the secret of the tab, which only this session has',
  browserTest,
  async () => {
    const { page, close } = await bank.approved()
    await shows(page, 'browser')
    const kept = () => page.evaluate(`sessionStorage.getItem('pulse:browser:${bank.session.id}')`)
    const secret = await kept()
    // The secret, and its commitment.
    assert.match(String(secret), /^[\w-]{86}$/)
    await page.reload()
    await shows(page, 'browser')
    assert.equal(await kept(), secret)
    await confirm(page)
    assert.equal((await outcomeOf(page)).browserSecret, String(secret).slice(0, 43))
    await close()
  },
)

test(
  '“This wasn’t me” on the phone ends the bond after a canceled prompt',
  browserTest,
  async () => {
    const { page, phone, close } = await bank.approved()
    await shows(page, 'browser')
    await cancelNext(page)
    await confirm(page)
    await shows(page, 'browser_again')
    await press(phone.page, 'This wasn’t me')
    assert.deepEqual(await outcomeOf(page), {
      state: 'killed',
      sessionId: null,
      reason: 'user_unexpected',
    })
    await close()
  },
)

for (const missing of ['globalThis.PublicKeyCredential', 'Navigator.prototype.credentials'])
  test(
    `a browser without ${missing} ends the bond, and the session is not bonded`,
    browserTest,
    async () => {
      const { page, phone, close } = await bank.approved((page) =>
        page.addInitScript(`delete ${missing}`),
      )
      assert.deepEqual(await outcomeOf(page), {
        state: 'unavailable',
        sessionId: null,
        reason: 'browser_unsupported',
      })
      await page.getByText('Open this page on your phone instead').waitFor()
      await screen(phone.page, 'ended')
      assert.equal((await bank.sandbox.stateOf(bank.session)).state, 'killed')
      await close()
    },
  )

const ELEMENT = `
import '@bonded/widget/element'
const bond = document.createElement('pulse-bond')
for (const [name, value] of Object.entries({ origin: setup.origin, workflow: setup.workflow,
  'publishable-key': setup.publishableKey, 'session-endpoint': setup.sessionEndpoint, action: 'submit_application' }))
  bond.setAttribute(name, value)
document.querySelector('main').append(bond)
globalThis.outcome = bond.requireBond()`
const COMPONENT = `
import { PulseBond } from '@bonded/widget/react'
import { createElement } from 'react'
import { createRoot } from 'react-dom/client'
globalThis.outcome = new Promise((onOutcome) => createRoot(document.querySelector('main'))
  .render(createElement(PulseBond, { ...setup, action: 'submit_application', onOutcome })))`

for (const [name, source] of [
  ['custom element', ELEMENT],
  ['React component', COMPONENT],
] as const)
  test(`the ${name} passes the secret on`, browserTest, async () => {
    bank.script = await bundlePage(source)
    const { page, close } = await bank.approved()
    await shows(page, 'browser')
    await confirm(page)
    const { browserSecret } = await outcomeOf(page)
    assert.equal((await bank.verificationWith(browserSecret))?.browser?.origin, bank.site)
    bank.script = undefined
    await close()
  })
