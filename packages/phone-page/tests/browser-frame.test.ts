import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { after, before, test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import type { Frame, Page } from 'playwright-core'
import { browserMissing } from '../../../tests/browser.ts'
import { type Faults, installFaults } from './faults.ts'
import { addAuthenticator, type Passkey, press, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

/*
 * The service's frame in Chromium, with the passkey of the phone that approved: what works in the
 * tenant's page works nowhere else.
 */

const browserTest = { skip: browserMissing, timeout: 600_000 }
const COMMITMENT = 'C'.repeat(43)
const sites: Server[] = []
let sandbox: Sandbox
let tenant: string
let evil: string

/** A site whose page can show any frame, and keeps every message. */
async function startSite(): Promise<string> {
  const site = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://127.0.0.1')
    const allow = searchParams.has('bare') ? '' : 'allow="publickey-credentials-get"'
    const frame = searchParams.get('frame')?.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
    const html = `<!doctype html><script>
      globalThis.messages = []
      addEventListener('message', ({ data, origin }) => messages.push({ data, origin }))
    </script>${frame ? `<iframe src="${frame}" ${allow} width="360" height="168"></iframe>` : ''}`
    response.setHeader('content-type', 'text/html').end(html)
  }).listen(0, '127.0.0.1')
  await once(site, 'listening')
  sites.push(site)
  return `http://127.0.0.1:${(site.address() as { port: number }).port}`
}

before(async () => {
  if (browserMissing) return
  ;[tenant, evil] = [await startSite(), await startSite()]
  const workflows = [{ require: ['browser' as const] }]
  sandbox = await Sandbox.start({ site: tenant, demo: true, workflows })
})
after(async () => {
  for (const site of sites) site.close()
  await sandbox?.[Symbol.asyncDispose]()
})

/** A session whose phone has approved, and a computer that has the phone's passkey. */
async function approved() {
  const session = await sandbox.create()
  const phone = await sandbox.phone()
  await phone.open(session)
  await press(phone.page, 'Approve')
  await screen(phone.page, 'awaiting_browser')
  const passkeys = await phone.passkeys()
  await phone.context.close()
  const { state } = await sandbox.stateOf(session)
  assert.equal(state, 'step_up_required')
  return { session, passkeys, frameUrl: `${sandbox.origin}/frame/${session.tenant_id}` }
}

async function computerAt(
  url: string,
  passkeys: readonly Passkey[],
  faults: Faults = {},
): Promise<Page> {
  const page = await sandbox.computer()
  await installFaults(page, faults)
  const { devtools, authenticatorId } = await addAuthenticator(page.context(), page)
  for (const credential of passkeys)
    await devtools.send('WebAuthn.addCredential', { authenticatorId, credential })
  await page.goto(url)
  return page
}

const showing = (site: string, frame: string) => `${site}/?frame=${encodeURIComponent(frame)}`
const startOf = ({ id, watch_token }: CreatedSession) =>
  JSON.stringify({
    bonded: 'frame/v1',
    type: 'start',
    session_id: id,
    watch_token,
    publishable_key: sandbox.publishableKey,
    commitment: COMMITMENT,
    language: 'en',
  })
const frameOf = (page: Page): Frame =>
  page.frames().find((each) => each.url().startsWith(`${sandbox.origin}/frame/`))!
const messagesOf = (page: Page | Frame) =>
  page.evaluate<{ data: unknown; origin: string }[]>('globalThis.messages')
const heard = (page: Page, type: string) =>
  page.waitForFunction(`globalThis.messages.some(({ data }) => data.type === '${type}')`)
const start = (page: Page, session: CreatedSession) =>
  page.evaluate(`frames[0].postMessage(${startOf(session)}, '${sandbox.origin}')`)

test(
  'shows its button again after a failure that may pass, and ends after one that cannot',
  browserTest,
  async () => {
    const { session, passkeys, frameUrl } = await approved()
    const open = async (errors: readonly string[]) => {
      const page = await computerAt(showing(tenant, frameUrl), passkeys, { get: errors })
      await heard(page, 'ready')
      await start(page, session)
      const confirm = () => frameOf(page).getByRole('button', { name: 'Confirm' }).click()
      await confirm()
      return { page, frame: frameOf(page), confirm }
    }
    const final = await open(['SecurityError'])
    await heard(final.page, 'failed')
    await final.frame.getByText('This browser cannot use passkeys here.').waitFor()

    const { page, frame, confirm } = await open(['NotAllowedError', 'UnknownError'])
    await frame.getByText('Not confirmed.').waitFor()
    await confirm()
    await frame.getByText('Not confirmed.').waitFor()
    assert.equal((await messagesOf(page)).length, 1, 'the page has heard only “ready”')
    await confirm()
    await heard(page, 'done')
    assert.equal((await sandbox.stateOf(session)).state, 'bonded')
  },
)

test(
  'proves the browser in the tenant’s page, which learns only that it is done',
  browserTest,
  async () => {
    const { session, passkeys, frameUrl } = await approved()
    const page = await computerAt(showing(tenant, frameUrl), passkeys)
    await heard(page, 'ready')
    await start(page, session)
    const frame = frameOf(page)
    await frame.locator('[data-screen=confirm]').waitFor()
    assert.match(await frame.locator('main').innerText(), /Harbour Bank/)
    let sent: { assertion: { response: { clientDataJSON: string } } } | undefined
    page.on('request', (request) => {
      if (request.url().endsWith('/browser')) sent = request.postDataJSON()
    })
    await frame.getByRole('button', { name: 'Confirm' }).click()
    await heard(page, 'done')
    assert.equal((await sandbox.stateOf(session)).state, 'bonded')
    assert.deepEqual(await messagesOf(page), [
      { data: { bonded: 'frame/v1', type: 'ready' }, origin: sandbox.origin },
      { data: { bonded: 'frame/v1', type: 'done' }, origin: sandbox.origin },
    ])
    const clientData = JSON.parse(
      Buffer.from(sent?.assertion.response.clientDataJSON ?? '', 'base64url').toString(),
    )
    assert.deepEqual(
      [clientData.origin, clientData.crossOrigin, clientData.topOrigin],
      [sandbox.origin, true, tenant],
    )
    await page.context().close()
  },
)

test('does not load in a page of another origin', browserTest, async () => {
  const { passkeys, frameUrl } = await approved()
  const page = await computerAt(showing(evil, frameUrl), passkeys)
  const frame = page.frames().find((each) => each !== page.mainFrame())
  assert.match(frame?.url() ?? '', /^chrome-error:/)
  assert.deepEqual(await messagesOf(page), [])
  await page.context().close()
})

test('does not load in the tenant’s page in another page', browserTest, async () => {
  const { passkeys, frameUrl } = await approved()
  const page = await computerAt(showing(evil, showing(tenant, frameUrl)), passkeys)
  assert.match(page.frames().at(-1)?.url() ?? '', /^chrome-error:/)
  await page.context().close()
})

test('does nothing two frames deep in the tenant’s own pages', browserTest, async () => {
  const { session, passkeys, frameUrl } = await approved()
  const page = await computerAt(showing(tenant, showing(tenant, frameUrl)), passkeys)
  const frame = frameOf(page)
  await frame.locator('[data-screen=misplaced]').waitFor()
  await page.evaluate(`frames[0].frames[0].postMessage(${startOf(session)}, '*')`)
  assert.deepEqual(await messagesOf(page.frames()[1]!), [])
  assert.equal(await frame.getByRole('button').count(), 0)
  await page.context().close()
})

test(
  'says that the page does not permit it to use passkeys, and does nothing',
  browserTest,
  async () => {
    const { session, passkeys, frameUrl } = await approved()
    const page = await computerAt(`${showing(tenant, frameUrl)}&bare`, passkeys)
    await frameOf(page).locator('[data-screen=unsupported]').waitFor()
    await start(page, session)
    assert.deepEqual(
      (await messagesOf(page)).map(({ data }) => data),
      [{ bonded: 'frame/v1', type: 'blocked' }],
    )
    assert.equal(await frameOf(page).getByRole('button').count(), 0)
    await page.context().close()
  },
)

test('does nothing as a popup', browserTest, async () => {
  const { session, passkeys, frameUrl } = await approved()
  const page = await computerAt(evil, passkeys)
  const [popup] = await Promise.all([
    page.waitForEvent('popup'),
    page.evaluate(`globalThis.popup = open('${frameUrl}')`),
  ])
  await popup.locator('[data-screen=misplaced]').waitFor()
  // The opener cannot reach it: its opener policy separates the two.
  assert.equal(await page.evaluate('popup.closed'), true)
  await page.evaluate(`popup.postMessage(${startOf(session)}, '*')`)
  assert.equal(await popup.evaluate('window.opener'), null)
  assert.equal(await popup.getByRole('button').count(), 0)
  assert.deepEqual(await messagesOf(page), [])
  await page.context().close()
})

test('ignores a start of another window, also of a frame beside it', browserTest, async () => {
  const { session, passkeys, frameUrl } = await approved()
  const page = await computerAt(showing(tenant, frameUrl), passkeys)
  await heard(page, 'ready')
  await page.evaluate(`new Promise((loaded) => {
    const other = document.createElement('iframe')
    other.src = '${evil}/'
    other.onload = loaded
    document.body.append(other)
  })`)
  const beside = page.frames().find((each) => each.url().startsWith(evil))!
  await beside.evaluate(`parent.frames[0].postMessage(${startOf(session)}, '*')`)
  // Its own message arrives after the other one, and is the first that counts.
  const other = { ...session, id: `sess_${'0'.repeat(22)}` as const }
  await start(page, other)
  await frameOf(page).locator('[data-screen=ended]').waitFor()
  await heard(page, 'failed')
  assert.equal((await sandbox.stateOf(session)).state, 'step_up_required')
  await page.context().close()
})

test(
  'keeps the first session of its page, whatever the page sends later',
  browserTest,
  async () => {
    const { session, passkeys, frameUrl } = await approved()
    const second = await sandbox.create()
    const page = await computerAt(showing(tenant, frameUrl), passkeys)
    await heard(page, 'ready')
    // Junk before the start, another session after it, and what a page would like to be signed.
    await page.evaluate(`for (const junk of [null, 7, 'start', [], { bonded: 'frame/v1' },
    { bonded: 'frame/v1', type: 'start', challenge: new Uint8Array(32), publicKey: {} },
    JSON.parse('{"__proto__":${startOf(session)}}')]) frames[0].postMessage(junk, '*')`)
    await start(page, session)
    await start(page, second)
    const frame = frameOf(page)
    const opened: string[] = []
    page.on('request', (request) => void opened.push(request.url()))
    await frame.locator('[data-screen=confirm]').waitFor()
    await start(page, second)
    await frame.getByRole('button', { name: 'Confirm' }).click()
    await heard(page, 'done')
    assert.equal((await sandbox.stateOf(session)).state, 'bonded')
    assert.deepEqual(
      opened.filter((url) => url.includes(second.id)),
      [],
    )
    await page.context().close()
  },
)

test('does not prove a browser that has another passkey, and asks again', browserTest, async () => {
  const { session, frameUrl } = await approved()
  const { passkeys } = await approved()
  const page = await computerAt(showing(tenant, frameUrl), passkeys)
  await heard(page, 'ready')
  await start(page, session)
  const frame = frameOf(page)
  await frame.getByRole('button', { name: 'Confirm' }).click()
  await frame.getByText('Not confirmed.').waitFor()
  // A user of the keyboard continues where the last press was.
  assert.equal(await frame.locator('button:focus').count(), 1)
  assert.equal((await sandbox.stateOf(session)).state, 'step_up_required')
  await page.context().close()
})
