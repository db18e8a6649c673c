import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import type { Page } from 'playwright-core'
import {
  addAuthenticator,
  press,
  screen,
} from '../../../packages/phone-page/tests/phone-browser.ts'
import { Sandbox } from '../../../packages/phone-page/tests/sandbox.ts'
import { browserMissing } from '../../browser.ts'

/*
 * The proof of the browser with the hosted widget, the phone page and the real service. On
 * localhost, a page of another port may use the same relying party id.
 */

const browserTest = { skip: browserMissing, timeout: 120_000 }
let sandbox: Sandbox
let session: CreatedSession
const bank = createServer((request, response) => {
  if (request.method !== 'POST')
    return void response.setHeader('content-type', 'text/html').end(html())
  const { completion_secret: _secret, ...view } = session
  response.setHeader('content-type', 'application/json').end(JSON.stringify(view))
})
const site = () => `http://localhost:${(bank.address() as AddressInfo).port}`
before(async () => {
  if (browserMissing) return
  await once(bank.listen(0, '127.0.0.1'), 'listening')
  sandbox = await Sandbox.start({ site: site(), demo: true, workflows: [{ require: ['browser'] }] })
})
after(async () => {
  bank.closeAllConnections()
  bank.close()
  await sandbox?.[Symbol.asyncDispose]()
})

function html(): string {
  const setup = {
    publishableKey: sandbox.publishableKey,
    workflow: 'credit_application',
    sessionEndpoint: '/bond-session',
    locale: 'en',
  }
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Bank</title>
<link rel="icon" href="data:,"><script src="${sandbox.origin}/v1/pulse.js"></script>
<div data-pulse-widget style="display:block;min-height:440px;max-width:360px"></div><script>
Pulse.init(${JSON.stringify(setup)})
globalThis.outcome = Pulse.requireBond({ action: 'submit_application', context: { form: 1 } })
</script></html>`
}

/** The page of a bank whose user's phone has approved. The computer has that phone's passkey. */
async function approved() {
  session = await sandbox.create()
  const page = await sandbox.computer()
  const { devtools, authenticatorId } = await addAuthenticator(page.context(), page)
  await page.goto(site())
  await shows(page, 'waiting')
  const phone = await sandbox.phone()
  await phone.open(session)
  await press(phone.page, 'Approve')
  // A passkey that is copied before it has signed would repeat its counter.
  await screen(phone.page, 'awaiting_browser')
  for (const credential of await phone.passkeys())
    await devtools.send('WebAuthn.addCredential', { authenticatorId, credential })
  return {
    page,
    phone,
    close: async () => {
      await page.context().close()
      await phone.context.close()
    },
  }
}

/** The next prompt ends as the browser reports a user who closes it. */
const cancelNext = (page: Page) =>
  page.evaluate(`{
    const { get } = CredentialsContainer.prototype
    CredentialsContainer.prototype.get = async () => {
      CredentialsContainer.prototype.get = get
      throw new DOMException('closed', 'NotAllowedError')
    }
  }`)
const shows = (page: Page, name: string) =>
  page.locator(`.card[data-screen=${name}]`).waitFor({ timeout: 20_000 })
const confirm = (page: Page) =>
  page.getByRole('button', { name: 'Confirm on this computer' }).click()
const outcomeOf = (page: Page) =>
  page.evaluate('outcome') as Promise<{ sessionId: string; browserSecret?: string }>
/** What the backend reads with the secret of a form. */
async function verificationWith(secret: string | undefined) {
  return (await sandbox.stateOf(session, secret)).verification
}

test(
  'the phone approves, the computer confirms, and the secret reads the verification',
  browserTest,
  async () => {
    const { page, phone, close } = await approved()
    await shows(page, 'browser')
    assert.equal(await page.locator('.qr').count(), 0)
    assert.equal((await sandbox.stateOf(session)).state, 'step_up_required')
    await confirm(page)
    const outcome = await outcomeOf(page)
    assert.deepEqual([outcome.sessionId, outcome.browserSecret?.length], [session.id, 43])
    assert.equal(await verificationWith(undefined), null)
    assert.equal((await verificationWith(outcome.browserSecret))?.browser?.origin, site())
    await screen(phone.page, 'approved')
    // The page has the secret, so the tab no longer keeps it.
    assert.equal(await page.evaluate('sessionStorage.length'), 0)
    await close()
  },
)

test('a canceled prompt can be repeated', browserTest, async () => {
  const { page, close } = await approved()
  await shows(page, 'browser')
  await cancelNext(page)
  await confirm(page)
  await shows(page, 'browser_again')
  await confirm(page)
  assert.equal((await outcomeOf(page)).sessionId, session.id)
  await close()
})

test(
  'a reload goes on with the secret of the tab, which only this session has',
  browserTest,
  async () => {
    const { page, close } = await approved()
    await shows(page, 'browser')
    const kept = () => page.evaluate(`sessionStorage.getItem('pulse:browser:${session.id}')`)
    const secret = await kept()
    assert.match(String(secret), /^[\w-]{43}$/)
    await page.reload()
    await shows(page, 'browser')
    assert.equal(await kept(), secret)
    await confirm(page)
    assert.equal((await outcomeOf(page)).browserSecret, secret)
    await close()
  },
)

test(
  '“This wasn’t me” on the phone ends the bond after a canceled prompt',
  browserTest,
  async () => {
    const { page, phone, close } = await approved()
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

test(
  'a browser without WebAuthn ends the bond, and the session is not bonded',
  browserTest,
  async () => {
    session = await sandbox.create()
    const page = await sandbox.computer()
    await page.addInitScript('delete globalThis.PublicKeyCredential')
    await page.goto(site())
    await shows(page, 'waiting')
    const phone = await sandbox.phone()
    await phone.open(session)
    await press(phone.page, 'Approve')
    assert.deepEqual(await outcomeOf(page), {
      state: 'unavailable',
      sessionId: null,
      reason: 'browser_unsupported',
    })
    await page.getByText('Open this page on your phone instead').waitFor()
    assert.equal((await sandbox.stateOf(session)).state, 'killed')
    await page.context().close()
    await phone.context.close()
  },
)
