import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserMissing } from '../../../tests/browser.ts'
import { heading, press, type PhoneBrowser, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

const browserTest = { skip: browserMissing, timeout: 600_000 }
const DAY_MS = 24 * 60 * 60_000
let sandbox: Sandbox
before(async () => {
  if (!browserMissing) sandbox = await Sandbox.start()
})
after(async () => sandbox?.[Symbol.asyncDispose]())

/** A phone that is set up; its devices are the only ones. */
async function ownPhone(): Promise<PhoneBrowser> {
  await sandbox.removeDevices()
  const phone = await sandbox.phone()
  await phone.open(await sandbox.create())
  return phone
}

for (const [days, name] of [
  [100, 'is due for renewal'],
  [200, 'has expired'],
] as const)
  test(`renews a token that ${name}, and keeps the device`, browserTest, async () => {
    const { page, context } = await ownPhone()
    const before = await sandbox.devices()
    sandbox.advance(days * DAY_MS)
    const session = await sandbox.create()
    await page.goto(session.universal_link)
    await screen(page, 'renew')
    assert.ok((await page.locator('main').innerText()).includes('This approves nothing.'))
    assert.equal((await sandbox.stateOf(session)).state, 'pending')
    await press(page, 'Continue')
    await screen(page, 'request')
    await press(page, 'Approve')
    await screen(page, 'approved')
    assert.equal((await sandbox.stateOf(session)).state, 'bonded')
    const ids = (await sandbox.devices()).map(({ id }) => id)
    assert.deepEqual(
      ids,
      before.map(({ id }) => id),
    )
    await page.goto((await sandbox.create()).universal_link)
    await screen(page, 'request')
    await context.close()
  })

test('lets the user try a failed renewal again', browserTest, async () => {
  const phone = await ownPhone()
  const { page, context } = phone
  sandbox.advance(200 * DAY_MS)
  const session = await sandbox.create()
  await page.goto(session.universal_link)
  await phone.setUserVerified(false)
  await press(page, 'Continue')
  await screen(page, 'problem')
  await phone.setUserVerified(true)
  await press(page, 'Try again')
  await press(page, 'Continue')
  await screen(page, 'request')
  await context.close()
})

test(
  'sets the phone up again when its key is gone and its token expired',
  browserTest,
  async () => {
    const phone = await ownPhone()
    const { page, context } = phone
    sandbox.advance(200 * DAY_MS)
    await phone.clearPasskeys()
    const session = await sandbox.create()
    await page.goto(session.universal_link)
    await press(page, 'Continue')
    await screen(page, 'problem')
    await press(page, 'Set up this phone again')
    await screen(page, 'setup')
    await press(page, 'Set up this phone')
    await press(page, 'Approve')
    await screen(page, 'approved')
    assert.equal((await sandbox.stateOf(session)).state, 'bonded')
    await context.close()
  },
)

test('reports a key that is removed while the request is open', browserTest, async () => {
  const { page, context } = await ownPhone()
  const session = await sandbox.create()
  await page.goto(session.universal_link)
  await screen(page, 'request')
  await sandbox.removeDevices()
  await press(page, 'Approve')
  await screen(page, 'problem')
  assert.equal(await heading(page), 'Set up this phone again')
  assert.equal((await sandbox.stateOf(session)).state, 'pending')
  await press(page, 'Set up this phone again')
  await press(page, 'Set up this phone')
  await screen(page, 'problem')
  // The removed key still holds this session, so no other key can approve it.
  assert.equal(await heading(page), 'Start again on the page')
  await context.close()
})

test('is offline and back in each step', browserTest, async () => {
  const phone = await sandbox.phone()
  const { page, context } = phone
  const session = await sandbox.create()
  const link = session.universal_link

  await page.goto(link)
  await screen(page, 'setup')
  await context.setOffline(true)
  await press(page, 'Set up this phone')
  await screen(page, 'problem')
  assert.equal(await heading(page), 'No connection')
  // The page notices the connection by itself.
  await context.setOffline(false)
  await screen(page, 'setup')
  await press(page, 'Set up this phone')
  await screen(page, 'request')

  await context.setOffline(true)
  await press(page, 'Decline')
  await page.getByRole('alert').filter({ hasText: 'No connection' }).waitFor()
  await press(page, 'Approve')
  await page.getByRole('alert').filter({ hasText: 'No connection' }).waitFor()
  assert.equal((await sandbox.stateOf(session)).state, 'pending')
  await context.setOffline(false)
  await press(page, 'Approve')
  await screen(page, 'approved')

  await context.setOffline(true)
  await sandbox.complete(session)
  await context.setOffline(false)
  await screen(page, 'completed')
  await context.close()
})

test('shows the state of a session that this phone reopens', browserTest, async () => {
  const phone = await sandbox.phone()
  const { page, context } = phone
  const session = await sandbox.create()
  await phone.open(session)
  await press(page, 'Approve')
  await screen(page, 'approved')
  await page.reload()
  await screen(page, 'approved')
  await sandbox.complete(session)
  await screen(page, 'completed')
  await page.reload()
  await screen(page, 'completed')

  const killed = await sandbox.create()
  await phone.open(killed)
  await press(page, 'Decline')
  await screen(page, 'ended')
  await page.reload()
  await screen(page, 'ended')
  assert.equal(await heading(page), 'The request was canceled')
  await context.close()
})

test(
  'offers a new setup after two prompts that the passkey did not respond to',
  browserTest,
  async () => {
    const phone = await ownPhone()
    const { page, context } = phone
    const session = await sandbox.create()
    await page.goto(session.universal_link)
    await screen(page, 'request')
    await phone.clearPasskeys()
    await press(page, 'Approve')
    await page.getByRole('alert').filter({ hasText: 'did not confirm' }).waitFor()
    await press(page, 'Approve')
    await screen(page, 'problem')
    await press(page, 'Set up this phone again')
    await press(page, 'Set up this phone')
    await page.getByRole('heading', { name: 'Start again on the page' }).waitFor()
    await page.goto((await sandbox.create()).universal_link)
    await press(page, 'Approve')
    await screen(page, 'approved')
    assert.equal((await sandbox.stateOf(session)).state, 'pending')
    await context.close()
  },
)

test('recovers by itself after the service was down', browserTest, async () => {
  const { page, context } = await ownPhone()
  await context.route('**/api/v1/**', (route) => route.abort())
  const session = await sandbox.create()
  await page.goto(session.universal_link)
  await screen(page, 'problem')
  assert.equal(await heading(page), 'No connection')
  await context.unroute('**/api/v1/**')
  await screen(page, 'request')

  await context.route('**/api/v1/**', (route) => route.fulfill({ status: 503, body: '' }))
  await page.reload()
  await page.getByRole('heading', { name: 'The service is busy' }).waitFor()
  await context.unroute('**/api/v1/**')
  await screen(page, 'request')
  await context.close()
})

test(
  'shows an approval whose response was lost as soon as the service responds again',
  browserTest,
  async () => {
    const { page, context } = await ownPhone()
    const session = await sandbox.create()
    await page.goto(session.universal_link)
    await screen(page, 'request')
    await context.route('**/api/v1/attestations', async (route) => {
      await route.fetch()
      await route.abort()
    })
    await press(page, 'Approve')
    await page.getByRole('alert').filter({ hasText: 'No connection' }).waitFor()
    await screen(page, 'approved')
    assert.equal((await sandbox.stateOf(session)).state, 'bonded')
    await context.close()
  },
)
