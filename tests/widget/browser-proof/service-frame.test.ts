import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { press, screen } from '../../../packages/phone-page/tests/phone-browser.ts'
import { browserMissing } from '../../browser.ts'
import {
  secureHostsMissing,
  type SecureHosts,
  startSecureHosts,
} from '../../harness/secure-hosts.ts'
import { Bank, HOSTS, outcomeOf, shows, tamperNextProof } from './bank.ts'

/*
 * The service's frame in the hosted widget, on names of their own with TLS: bank and service are of
 * different sites, and related origins are off.
 */

const browserTest = { skip: browserMissing || secureHostsMissing, timeout: 600_000 }
let hosts: SecureHosts
let bank: Bank
before(async () => {
  if (browserTest.skip) return
  hosts = await startSecureHosts(HOSTS)
  bank = await Bank.start({ relatedOrigins: false, hosts })
})
after(async () => {
  await bank?.[Symbol.asyncDispose]()
  await hosts?.[Symbol.asyncDispose]()
})

const inFrame = (page: Page) => page.frameLocator('iframe')
const confirm = (page: Page) => inFrame(page).getByRole('button', { name: 'Confirm' }).click()
const blocked = { state: 'unavailable', sessionId: null, reason: 'browser_frame_blocked' }

test('the widget shows the frame, and the secret reads the verification', browserTest, async () => {
  const { page, phone, close } = await bank.approved()
  await shows(page, 'browser_frame')
  await inFrame(page).getByText('Harbour Bank').waitFor()
  await confirm(page)
  const outcome = await outcomeOf(page)
  assert.deepEqual([outcome.sessionId, outcome.browserSecret?.length], [bank.session.id, 43])
  assert.equal(await bank.verificationWith(undefined), null)
  const { browser } = (await bank.verificationWith(outcome.browserSecret)) ?? {}
  assert.equal(browser?.origin, bank.site)
  await screen(phone.page, 'approved')
  assert.equal(await page.locator('iframe').count(), 0)
  await close()
})

test(
  'a canceled prompt and a rejected proof can be repeated in the frame',
  browserTest,
  async () => {
    const { page, sync, forget, close } = await bank.approved()
    await shows(page, 'browser_frame')
    // As with a phone that is not near: the browser reports that no passkey answered.
    await forget()
    await confirm(page)
    await inFrame(page).getByText('Not confirmed.').waitFor()
    await sync()
    await tamperNextProof(page)
    await confirm(page)
    await page.waitForResponse((response) => response.status() === 400)
    assert.equal((await bank.sandbox.stateOf(bank.session)).state, 'step_up_required')
    await confirm(page)
    assert.equal((await outcomeOf(page)).sessionId, bank.session.id)
    await close()
  },
)

test('the frame names the right passkey to a user who chose another', browserTest, async () => {
  const { page, sync, forget, close } = await bank.approvedBesideOther()
  await shows(page, 'browser_frame')
  await confirm(page)
  await inFrame(page).getByText('Use the passkey of the phone that approved.').waitFor()
  await forget()
  await sync()
  await confirm(page)
  assert.equal((await outcomeOf(page)).sessionId, bank.session.id)
  await close()
})

test('a reload goes on with the secret of the tab in a new frame', browserTest, async () => {
  const { page, close } = await bank.approved()
  await shows(page, 'browser_frame')
  const kept = () => page.evaluate(`sessionStorage.getItem('pulse:browser:${bank.session.id}')`)
  const secret = await kept()
  await page.reload()
  await shows(page, 'browser_frame')
  await confirm(page)
  assert.equal((await outcomeOf(page)).browserSecret, String(secret).slice(0, 43))
  await close()
})

test('a session that ends takes the frame away', browserTest, async () => {
  const { page, phone, close } = await bank.approved()
  await inFrame(page).getByRole('button').waitFor()
  await press(phone.page, 'This wasn’t me')
  const { reason } = await outcomeOf(page)
  assert.equal(reason, 'user_unexpected')
  assert.equal(await page.locator('iframe').count(), 0)
  await close()
})

for (const [name, headers] of [
  ['has no frame-src', { 'content-security-policy': "frame-src 'none'" }],
  ['permits no passkeys', { 'permissions-policy': 'publickey-credentials-get=()' }],
] as const)
  test(`ends as blocked where the page ${name}`, browserTest, async () => {
    bank.headers = headers
    const { page, phone, close } = await bank.approved()
    const missingCsp = name === 'has no frame-src' && {
      missingCsp: `frame-src ${bank.sandbox.origin}`,
    }
    assert.deepEqual(await outcomeOf(page), { ...blocked, ...missingCsp })
    await shows(page, 'not_set_up')
    await screen(phone.page, 'ended')
    assert.equal((await bank.sandbox.stateOf(bank.session)).ended_reason, 'canceled')
    bank.headers = {}
    await close()
  })

test('shows no frame in a browser without WebAuthn', browserTest, async () => {
  const { page, close } = await bank.approved((page) =>
    page.addInitScript('delete globalThis.PublicKeyCredential'),
  )
  assert.equal((await outcomeOf(page)).reason, 'browser_unsupported')
  await close()
})

test('gives up where the frame can do no more for a session that waits', browserTest, async () => {
  const { page, close } = await bank.approved((page) =>
    page.addInitScript(`if (top !== self) CredentialsContainer.prototype.get = () =>
      Promise.reject(new DOMException('', 'NotSupportedError'))`),
  )
  await shows(page, 'browser_frame')
  await confirm(page)
  assert.equal((await outcomeOf(page)).reason, 'browser_unsupported')
  await close()
})

test(
  'accepts messages of no other window, and works in an isolated page',
  browserTest,
  async () => {
    bank.headers = {
      'cross-origin-embedder-policy': 'require-corp',
      'cross-origin-opener-policy': 'same-origin',
    }
    // Windows of the page itself and of another origin, which send what the frame could.
    const script = `for (const type of ['blocked', 'ready', 'failed', 'done'])
    setInterval(() => parent.postMessage({ bonded: 'frame/v1', type }, '*'), 20)`
    const srcdoc = `<script>${script}</script>`
    bank.head = `<iframe srcdoc="${srcdoc}"></iframe><iframe sandbox="allow-scripts" srcdoc="${srcdoc}"></iframe>`
    const { page, close } = await bank.approved()
    await shows(page, 'browser_frame')
    await page.frameLocator('.card iframe').getByRole('button', { name: 'Confirm' }).click()
    assert.equal((await outcomeOf(page)).sessionId, bank.session.id)
    bank.headers = {}
    bank.head = ''
    await close()
  },
)

test('hides the frame while anything covers it, and keeps what it shows', browserTest, async () => {
  const { page, close } = await bank.approved()
  await inFrame(page).getByRole('button').waitFor()
  await page.evaluate(`{
    const { x, y, width, height } =
      document.querySelector('[data-pulse-widget]').shadowRoot.querySelector('iframe').getBoundingClientRect()
    globalThis.seen = []
    addEventListener('pulse:containment', ({ detail }) => seen.push(detail))
    globalThis.cover = document.createElement('div')
    Object.assign(cover.style, { position: 'absolute', background: 'red',
      left: x + 'px', top: y + 'px', width: width + 'px', height: height + 'px' })
    document.body.append(cover)
    let loads = 0
    globalThis.loads = () => loads
    document.querySelector('[data-pulse-widget]').shadowRoot.querySelector('iframe').onload = () => loads++
  }`)
  await page.waitForFunction(`seen.at(-1)?.breaches.includes('covered')`)
  assert.equal(await page.locator('iframe').isVisible(), false)
  await page.evaluate('cover.remove()')
  await page.waitForFunction(`seen.at(-1)?.verdict === 'ok'`)
  assert.equal(await page.locator('iframe').isVisible(), true)
  await confirm(page)
  assert.equal((await outcomeOf(page)).sessionId, bank.session.id)
  assert.equal(await page.evaluate('loads()'), 0)
  await close()
})

test('serves a user who has the phone only, in two tabs of it', browserTest, async () => {
  bank.session = await bank.sandbox.create()
  const phone = await bank.sandbox.phone()
  const page = await phone.newTab()
  await page.goto(bank.site)
  await shows(page, 'waiting')
  await phone.open(bank.session)
  await press(phone.page, 'Approve')
  await screen(phone.page, 'awaiting_browser')
  await phone.shareWith(page)
  await shows(page, 'browser_frame')
  await confirm(page)
  assert.equal((await outcomeOf(page)).sessionId, bank.session.id)
  await screen(phone.page, 'approved')
  await phone.context.close()
})
