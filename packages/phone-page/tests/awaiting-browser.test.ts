import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { browserMissing } from '../../../tests/browser.ts'
import { BrowserProofDouble } from './browser-proof-double.ts'
import { addAuthenticator, heading, press, recordPrompts, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

const browserTest = { skip: browserMissing, timeout: 600_000 }
const TITLE = 'Now confirm on the computer in front of you'
let sandbox: Sandbox
before(async () => {
  if (!browserMissing) sandbox = await Sandbox.start()
})
after(async () => sandbox?.[Symbol.asyncDispose]())

/** A phone that has approved a session whose workflow requires the page's browser. */
async function approved() {
  const session = await sandbox.create()
  const phone = await sandbox.phone()
  const prompts = await recordPrompts(phone.page)
  const browser = await BrowserProofDouble.before(phone.page)
  await phone.open(session)
  await press(phone.page, 'Approve')
  await screen(phone.page, 'awaiting_browser')
  return { session, phone, page: phone.page, prompts, browser }
}

test(
  'waits for the page’s browser, also after a reload, and shows the bond',
  browserTest,
  async () => {
    const { session, phone, page, prompts, browser } = await approved()
    assert.equal(await heading(page), TITLE)
    const text = await page.locator('main').innerText()
    for (const part of ['Harbour Bank', 'second QR code', 'open on this phone', '€12,500.00'])
      assert.ok(text.includes(part), part)
    assert.equal(await page.title(), TITLE)
    await page.reload()
    await screen(page, 'awaiting_browser')
    await browser.confirm()
    await screen(page, 'approved')
    await sandbox.complete(session)
    await screen(page, 'completed')
    // One for the passkey, one for the approval: the wait asks the user for nothing.
    assert.deepEqual(prompts, ['create', 'get'])
    await phone.context.close()
  },
)

test('ends the wait with “This wasn’t me”, and tells the tenant', browserTest, async () => {
  const { session, phone, page } = await approved()
  await press(page, 'This wasn’t me')
  await screen(page, 'ended')
  assert.equal(await heading(page), 'Request stopped')
  const { state, ended_reason } = await sandbox.stateOf(session)
  assert.deepEqual([state, ended_reason], ['killed', 'user_unexpected'])
  await phone.context.close()
})

test('ends the wait when the session ends elsewhere', browserTest, async () => {
  const { session, phone, page } = await approved()
  await sandbox.kill(session)
  await screen(page, 'ended')
  assert.equal(await heading(page), 'The request was canceled')
  await phone.context.close()
})

test('keeps waiting through an outage, and asks for no second approval', browserTest, async () => {
  const { phone, page, browser } = await approved()
  browser.isOffline = true
  await press(page, 'Decline')
  await page.getByRole('alert').filter({ hasText: 'No connection' }).waitFor()
  assert.equal(await heading(page), TITLE)
  assert.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0)
  browser.isOffline = false
  await page.evaluate("dispatchEvent(new Event('online'))")
  await page.getByRole('alert').waitFor({ state: 'detached' })
  assert.equal(await heading(page), TITLE)
  await browser.confirm()
  await screen(page, 'approved')
  await phone.context.close()
})

test('lets the user approve again when the browser did not confirm', browserTest, async () => {
  for (const reason of ['evidence_expired', 'browser_proof_failed']) {
    const { phone, page, browser } = await approved()
    browser.stepUp = { required: ['local_auth'], attempts_left: 2, reasons: [reason] }
    await page.reload()
    await screen(page, 'request')
    await page.getByRole('alert').filter({ hasText: 'not confirmed on the page' }).waitFor()
    await press(page, 'Approve')
    await press(page, 'Continue')
    await screen(page, 'awaiting_browser')
    await browser.confirm()
    await screen(page, 'approved')
    await phone.context.close()
  }
})

test(
  'the passkey of an approval also signs for a page of another origin',
  browserTest,
  async () => {
    const phone = await sandbox.phone()
    await phone.open(await sandbox.create())
    const [passkey] = await phone.passkeys()
    assert.ok(passkey)
    // On localhost, a page of another port may use the same relying party id.
    const shop = createServer((_, response) => response.end('<!doctype html><title>x</title>'))
    await once(shop.listen(0, '127.0.0.1'), 'listening')
    try {
      const origin = `http://localhost:${(shop.address() as AddressInfo).port}`
      const page = await sandbox.computer()
      const { devtools, authenticatorId } = await addAuthenticator(page.context(), page)
      await devtools.send('WebAuthn.addCredential', { authenticatorId, credential: passkey })
      await page.goto(origin)
      const signed = await page.evaluate<{ id: string; origin: string }>(`(async () => {
      const bytes = Uint8Array.fromBase64(${JSON.stringify(passkey.credentialId)})
      const publicKey = {
        challenge: new Uint8Array(32),
        rpId: ${JSON.stringify(new URL(sandbox.origin).hostname)},
        allowCredentials: [{ type: 'public-key', id: bytes }],
        userVerification: 'required',
      }
      const { id, response } = await navigator.credentials.get({ publicKey })
      const clientData = JSON.parse(new TextDecoder().decode(response.clientDataJSON))
      return { id, origin: clientData.origin }
    })()`)
      assert.equal(Buffer.from(signed.id, 'base64url').toString('base64'), passkey.credentialId)
      assert.equal(signed.origin, origin)
      await page.context().close()
    } finally {
      shop.close()
      await phone.context.close()
    }
  },
)
