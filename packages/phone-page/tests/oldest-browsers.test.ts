import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import type { BrowserContext } from 'playwright-core'
import { browserMissing } from '../../../tests/browser.ts'
import { libraryMembers } from '../../../tests/oldest-browsers/support.ts'
import { DescribedBackend, openDescribedSite, SITE } from './described-site.ts'
import { carry, installSensors } from './motion-driver.ts'
import { addAuthenticator, press, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

/*
 * Chromium without every function that one of the oldest browsers lacks. Its passkeys are those of
 * a password manager: objects of a page script, with members of their own.
 */

const browserTest = { skip: browserMissing, timeout: 600_000 }
let sandbox: Sandbox
before(async () => {
  if (browserMissing) return
  sandbox = await Sandbox.start({
    workflows: [{}, { name: 'carried', require: ['sensor_continuity'] }],
  })
})
after(async () => sandbox?.[Symbol.asyncDispose]())

type Newer = readonly [owner: string | undefined, name: string, isStatic: boolean | undefined]

const NEWER = libraryMembers()
  .filter(({ isSupported }) => !isSupported)
  // Only Safari of computers lacks motion, and this is a phone.
  .filter(({ owner, name }) => !(owner ?? name).startsWith('DeviceMotionEvent'))
  .map(({ owner, name, isStatic }): Newer => [owner, name, isStatic])

/** Removes each from its class, its prototype, or the global object. */
function removeNewer(newer: readonly Newer[]): void {
  const scope = globalThis as unknown as Record<string, { prototype?: object } | undefined>
  for (const [owner, name, isStatic] of newer) {
    const place = owner === undefined ? scope : scope[owner]
    const holders = [isStatic === false ? null : place, isStatic === true ? null : place?.prototype]
    for (const holder of holders)
      if (holder !== null && (typeof holder === 'object' || typeof holder === 'function'))
        Reflect.deleteProperty(holder, name)
  }
}

function replacePasskeys(): void {
  type Ask = (options: object) => Promise<{ rawId: ArrayBuffer; response: object } | null>
  const scope = globalThis as unknown as {
    CredentialsContainer: { prototype: Record<'create' | 'get', Ask> }
  }
  const { prototype } = scope.CredentialsContainer
  for (const kind of ['create', 'get'] as const) {
    const ask = prototype[kind]
    prototype[kind] = async function (this: unknown, options) {
      const credential = await ask.call(this, options)
      if (credential === null) return null
      const { response } = credential as { response: Record<string, unknown> }
      const copy: Record<string, unknown> = { extra: 'of the manager' }
      for (const name of ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature'])
        if (name in response) copy[name] = response[name]
      const fail = () => {
        throw new Error('toJSON of the manager')
      }
      return { id: 'other', rawId: credential.rawId, response: copy, type: 'manager', toJSON: fail }
    }
  }
}

/** Makes all pages of a context old. */
async function makeOld(context: BrowserContext): Promise<void> {
  await context.addInitScript(removeNewer, NEWER)
  await context.addInitScript(replacePasskeys)
}

async function oldPhone(of = sandbox) {
  const phone = await of.phone()
  await makeOld(phone.context)
  return phone
}

test('the browser of this test lacks what the oldest browsers lack', browserTest, async () => {
  const { page } = await oldPhone()
  await page.goto((await sandbox.create()).universal_link)
  const present = await page.evaluate(`[
    Promise.withResolvers, [].toSorted, ''.isWellFormed, URL.canParse, document.body.checkVisibility,
    PublicKeyCredential.prototype.toJSON, new Set().union,
  ].map((each) => each === undefined || String(each))`)
  assert.deepEqual(new Set(present as string[]), new Set([true]))
})

test('registers, approves, declines, and recovers', browserTest, async () => {
  const phone = await oldPhone()
  const first = await sandbox.create()
  await phone.open(first)
  await press(phone.page, 'Approve')
  await screen(phone.page, 'approved')
  await sandbox.complete(first, 'accepted')
  await screen(phone.page, 'completed')
  assert.equal((await sandbox.stateOf(first)).state, 'completed')

  const second = await sandbox.create()
  await phone.open(second)
  await press(phone.page, 'Decline')
  await screen(phone.page, 'ended')
  assert.equal((await sandbox.stateOf(second)).ended_reason, 'user_declined')

  await phone.clearStorage()
  const third = await sandbox.create()
  await phone.page.goto(third.universal_link)
  await press(phone.page, 'I have used this phone before')
  await screen(phone.page, 'request')
  await press(phone.page, 'Approve')
  await screen(phone.page, 'approved')
  assert.equal((await sandbox.devices()).length, 1)
})

/** Opens a request on an old phone with sensors. */
async function opened(session: CreatedSession) {
  const phone = await oldPhone()
  await installSensors(phone.page, 'granted')
  await phone.open(session)
  return phone
}

test('reports a step-up for motion, and declines it', browserTest, async () => {
  const session = await sandbox.create({ workflow: 'carried' })
  const phone = await opened(session)
  await press(phone.page, 'Approve')
  await screen(phone.page, 'step_up')
  assert.equal((await sandbox.stateOf(session)).state, 'step_up_required')
  await press(phone.page, 'Decline')
  await screen(phone.page, 'ended')
  assert.equal((await sandbox.stateOf(session)).ended_reason, 'user_declined')
})

test('completes a step-up for motion', browserTest, async () => {
  const session = await sandbox.create({ workflow: 'carried' })
  const { page } = await opened(session)
  await press(page, 'Approve')
  await screen(page, 'step_up')
  await carry(sandbox, page, 8)
  await page.locator('button:enabled', { hasText: 'Continue' }).click()
  await screen(page, 'approved')
  assert.equal((await sandbox.stateOf(session)).state, 'bonded')
})

test(
  'tells the user of an older browser that it is too old, in the user’s language',
  browserTest,
  async () => {
    const { context, page } = await sandbox.phone({}, { locale: 'de-DE' })
    const failures: string[] = []
    page.on('pageerror', ({ message }) => failures.push(message))
    // It came with Safari 16.4.
    await context.addInitScript('delete globalThis.CompressionStream')
    const requests: string[] = []
    page.on('request', (request) => requests.push(new URL(request.url()).pathname))
    await page.goto((await sandbox.create()).universal_link, { waitUntil: 'load' })
    await screen(page, 'too_old')
    assert.equal(
      await page.locator('main').innerText(),
      'Diese Seite braucht einen neueren Browser\n\n' +
        'Aktualisieren Sie diesen Browser, oder öffnen Sie die Seite in einem anderen.',
    )
    assert.deepEqual([failures, requests.filter((path) => path.startsWith('/api'))], [[], []])
  },
)

test('confirms in the page of the tenant with the widget and the frame', browserTest, async () => {
  await using site = await Sandbox.start({ site: SITE, workflows: [{ require: ['browser'] }] })
  const backend = new DescribedBackend(site)
  const { page, created, result } = await openDescribedSite(site, backend, {}, { prepare: makeOld })
  const { universal_link, id } = await created
  await page.locator('[data-breached=false] .qr path + path').waitFor()
  const phone = await oldPhone(site)
  await phone.open({ universal_link })
  await press(phone.page, 'Approve')
  await screen(phone.page, 'awaiting_browser')

  const { devtools, authenticatorId } = await addAuthenticator(page.context(), page)
  for (const credential of await phone.passkeys())
    await devtools.send('WebAuthn.addCredential', { authenticatorId, credential })
  const frame = page.frameLocator('iframe')
  await frame.getByRole('button', { name: 'Confirm' }).click()
  const { outcome } = await result()
  assert.deepEqual([outcome.state, outcome.sessionId], ['bonded', id])
})

test(
  'one use of a newer function in the page’s script is shown as a problem at once',
  browserTest,
  async () => {
    const phone = await oldPhone()
    await phone.page.route('**/bond/page-*.js', async (route) => {
      const response = await route.fetch()
      const script = await response.text()
      // How `waitForEnd` of the phone library waits, with what Chrome 109 lacks.
      const newer = script.replace(
        /new Promise\((?=\w+=>\{\w+=\w+\.clock\.schedule\()/,
        'Promise.withResolvers()&&new Promise(',
      )
      assert.notEqual(newer, script)
      await route.fulfill({ response, body: newer })
    })
    await phone.page.route('**/bond?*', async (route) => {
      const response = await route.fetch()
      const html = (await response.text()).replace(/ integrity="[^"]+"/, '')
      await route.fulfill({ response, body: html })
    })
    await phone.page.goto((await sandbox.create()).universal_link)
    await press(phone.page, 'Set up this phone')
    await screen(phone.page, 'problem')
  },
)
