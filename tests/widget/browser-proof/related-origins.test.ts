import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { browserMissing } from '../../browser.ts'
import {
  secureHostsMissing,
  type SecureHosts,
  startSecureHosts,
} from '../../harness/secure-hosts.ts'
import { Bank, HOSTS, outcomeOf, shows, tamperNextProof } from './bank.ts'

/*
 * The page's own proof where all tenants are one organization: the service lists the bank's page,
 * which is of another site, as a related origin.
 */

const browserTest = { skip: browserMissing || secureHostsMissing, timeout: 600_000 }
let hosts: SecureHosts
let bank: Bank
before(async () => {
  if (browserTest.skip) return
  hosts = await startSecureHosts(HOSTS)
  bank = await Bank.start({ relatedOrigins: true, hosts })
})
after(async () => {
  await bank?.[Symbol.asyncDispose]()
  await hosts?.[Symbol.asyncDispose]()
})

const confirm = (page: Page) =>
  page.getByRole('button', { name: 'Confirm on this computer' }).click()
const confirmInFrame = (page: Page) =>
  page.frameLocator('iframe').getByRole('button', { name: 'Confirm' }).click()

test('a page of another site proves itself, after a rejected proof', browserTest, async () => {
  const { page, close } = await bank.approved()
  const errors: string[] = []
  page.on('console', (line) => {
    if (line.type() === 'error') errors.push(line.text())
  })
  await shows(page, 'browser')
  await tamperNextProof(page)
  await confirm(page)
  await shows(page, 'browser_again')
  const told = errors.filter((line) => line.startsWith('Pulse:'))
  assert.match(told.join('\n'), /^Pulse: browser_proof_invalid\./)
  let sent: { assertion: { response: { clientDataJSON: string } } } | undefined
  page.on('request', (request) => {
    if (request.url().endsWith('/browser')) sent = request.postDataJSON()
  })
  await confirm(page)
  const { browserSecret } = await outcomeOf(page)
  assert.equal((await bank.verificationWith(browserSecret))?.browser?.origin, bank.site)
  const clientData = JSON.parse(
    Buffer.from(sent?.assertion.response.clientDataJSON ?? '', 'base64url').toString(),
  )
  assert.deepEqual([clientData.origin, clientData.crossOrigin], [bank.site, false])
  await close()
})

for (const [name, script] of [
  [
    'does not have related origins',
    `PublicKeyCredential.getClientCapabilities = async () => ({ relatedOrigins: false })`,
  ],
  ['does not say what it has', `delete PublicKeyCredential.getClientCapabilities`],
])
  test(`shows the service's frame in a browser that ${name}`, browserTest, async () => {
    const { page, close } = await bank.approved((page) => page.addInitScript(script!))
    await shows(page, 'browser_frame')
    await confirmInFrame(page)
    assert.equal((await outcomeOf(page)).sessionId, bank.session.id)
    await close()
  })

test('shows the frame after the browser refused the page', browserTest, async () => {
  // As a browser does that has read five other names of sites before the page's.
  const { page, close } = await bank.approved((page) =>
    page.addInitScript(`if (top === self) CredentialsContainer.prototype.get = () =>
      Promise.reject(new DOMException('', 'SecurityError'))`),
  )
  await shows(page, 'browser')
  await confirm(page)
  await shows(page, 'browser_frame')
  await confirmInFrame(page)
  assert.equal((await outcomeOf(page)).sessionId, bank.session.id)
  await close()
})
