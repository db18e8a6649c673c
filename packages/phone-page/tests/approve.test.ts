import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserMissing } from '../../../tests/browser.ts'
import { quietZoneOf, readQr } from '../../widget/tests/read-qr.ts'
import { press, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

const browserTest = { skip: browserMissing, timeout: 600_000 }
let sandbox: Sandbox
before(async () => {
  if (!browserMissing) sandbox = await Sandbox.start()
})
after(async () => sandbox?.[Symbol.asyncDispose]())

test('sets up a new phone, shows the request, and approves it', browserTest, async () => {
  const session = await sandbox.create()
  const { page } = await sandbox.phone()
  const complaints: string[] = []
  page.on('console', (message) => {
    // The service does not know the manufacturer of Chromium's authenticator; the phone registers
    // again without it.
    const isUnknownManufacturer = message.location().url.endsWith('/api/v1/devices')
    if (message.type() === 'error' && !isUnknownManufacturer) complaints.push(message.text())
  })
  page.on('pageerror', (failure) => complaints.push(String(failure)))

  await page.goto(session.universal_link)
  await screen(page, 'setup')
  await press(page, 'Set up this phone')
  await screen(page, 'request')
  assert.equal(await page.getByRole('heading').textContent(), 'Harbour Bank asks for your approval')
  const shown = await page.locator('main').innerText()
  for (const text of ['€12,500.00', '36 months', 'Ada Lovelace'])
    assert.ok(shown.includes(text), text)

  await press(page, 'Approve')
  await screen(page, 'approved')
  const { state, verification } = await sandbox.stateOf(session)
  assert.deepEqual(
    [state, verification?.device_possession, verification?.local_auth],
    ['bonded', true, 'verified'],
  )
  await sandbox.complete(session)
  await screen(page, 'completed')
  assert.deepEqual(complaints, [])
})

test('keeps its device across sessions and a restart of the browser tab', browserTest, async () => {
  const { context, page } = await sandbox.phone()
  await page.goto((await sandbox.create()).universal_link)
  await press(page, 'Set up this phone')
  await press(page, 'Approve')
  await screen(page, 'approved')

  const second = await sandbox.create()
  await page.goto(second.universal_link)
  await screen(page, 'request')
  await page.reload()
  await screen(page, 'request')
  await press(page, 'Approve')
  await screen(page, 'approved')
  assert.equal((await sandbox.stateOf(second)).state, 'bonded')
  await context.close()
})

test('a second browser on the same phone sets itself up', browserTest, async () => {
  const first = await sandbox.phone()
  await first.page.goto((await sandbox.create()).universal_link)
  await press(first.page, 'Set up this phone')
  await screen(first.page, 'request')

  const session = await sandbox.create()
  const second = await sandbox.phone()
  await second.page.goto(session.universal_link)
  await press(second.page, 'Set up this phone')
  await press(second.page, 'Approve')
  await screen(second.page, 'approved')
  assert.equal((await sandbox.stateOf(session)).state, 'bonded')
})

for (const [button, reason, end] of [
  ['This wasn’t me', 'user_unexpected', 'Request stopped'],
  ['Decline', 'user_declined', 'Declined'],
] as const)
  test(`“${button}” ends the session as ${reason}`, browserTest, async () => {
    const session = await sandbox.create()
    const { page } = await sandbox.phone()
    await page.goto(session.universal_link)
    await press(page, 'Set up this phone')
    await press(page, button)
    await screen(page, 'ended')
    assert.equal(await page.getByRole('heading').textContent(), end)
    assert.deepEqual(await page.getByRole('button').allTextContents(), ['Close', 'Your phones'])
    const { state, ended_reason } = await sandbox.stateOf(session)
    assert.deepEqual([state, ended_reason], ['killed', reason])
  })

/** The rows of the bar at the bottom: names and places of its buttons, and how each is filled. */
const BAR = `Array.from(document.querySelectorAll('.actions .button'), (button) => {
  const { top, bottom, height } = button.getBoundingClientRect()
  return {
    isVisible: top >= 0 && bottom <= innerHeight && height >= 44,
    isFilled: getComputedStyle(button).backgroundColor !== 'rgba(0, 0, 0, 0)',
  }
})`

for (const viewport of [
  { width: 320, height: 568 },
  { width: 390, height: 664 },
])
  test(
    `all choices are in view, and one is primary: ${viewport.width} px`,
    browserTest,
    async () => {
      const phone = await sandbox.phone({}, { viewport })
      const { page } = phone
      await phone.open(await sandbox.create())
      const inView = [
        { isVisible: true, isFilled: true },
        { isVisible: true, isFilled: false },
        { isVisible: true, isFilled: false },
      ]
      assert.deepEqual(await page.evaluate(BAR), inView)
      await phone.setUserVerified(false)
      await press(page, 'Approve')
      await page.getByRole('alert').waitFor()
      assert.deepEqual(await page.evaluate(BAR), inView)
      await page.evaluate('scrollTo(0, document.body.scrollHeight)')
      assert.deepEqual(await page.evaluate(BAR), inView)
      await phone.context.close()
    },
  )

test(
  'Approve ignores taps for a second after the page comes back to the front',
  browserTest,
  async () => {
    const phone = await sandbox.phone()
    const { page } = phone
    await phone.open(await sandbox.create())
    const approve = page.getByRole('button', { name: 'Approve' })
    for (const event of ['focus', 'blur', 'pageshow']) {
      await page.getByRole('button', { name: 'Approve', disabled: false }).waitFor()
      await page.evaluate(`dispatchEvent(new Event('${event}'))`)
      assert.equal(await approve.getAttribute('aria-disabled'), 'true', event)
      await approve.dispatchEvent('click')
      await screen(page, 'request')
    }
    await press(page, 'Approve')
    await screen(page, 'approved')
    await phone.context.close()
  },
)

test(
  'returns to the request when the user does not verify, and approves on the next try',
  browserTest,
  async () => {
    const session = await sandbox.create()
    const phone = await sandbox.phone()
    const { page } = phone
    await page.goto(session.universal_link)
    await press(page, 'Set up this phone')
    await screen(page, 'request')
    await phone.setUserVerified(false)
    await press(page, 'Approve')
    await page.getByRole('alert').waitFor()
    await screen(page, 'request')
    assert.equal((await sandbox.stateOf(session)).state, 'pending')

    await phone.setUserVerified(true)
    await press(page, 'Approve')
    await screen(page, 'approved')
  },
)

for (const [button, sent, state, name] of [
  ['Approve', 'attestations', 'bonded', 'approved'],
  ['Decline', 'decline', 'killed', 'ended'],
] as const)
  test(
    `a second “${button}” shows the session as it is when the response to the first was lost`,
    browserTest,
    async () => {
      const session = await sandbox.create()
      const phone = await sandbox.phone()
      const { page, context } = phone
      await phone.open(session)
      let isLost = true
      let signed = 0
      await context.route(`**/${sent}`, async (route) => {
        signed += 1
        if (!isLost) return route.continue()
        await route.fetch()
        await route.abort()
      })
      await context.route(`**/sessions/${session.id}?*`, (route) =>
        isLost ? route.abort() : route.continue(),
      )
      // The page would otherwise find its session by itself.
      await context.route('**/invitation*', (route) => route.abort())
      await press(page, button)
      await page.getByRole('alert').waitFor()
      assert.equal((await sandbox.stateOf(session)).state, state)
      isLost = false
      const before = signed
      await press(page, button)
      await screen(page, name)
      assert.equal(signed, before)
      await context.close()
    },
  )

test('rejects an authenticator that cannot verify its user', browserTest, async () => {
  const session = await sandbox.create()
  const { page } = await sandbox.phone({ hasUserVerification: false, isUserVerified: false })
  await page.goto(session.universal_link)
  await press(page, 'Set up this phone')
  await screen(page, 'problem')
  assert.equal((await sandbox.stateOf(session)).state, 'pending')
})

test('sets the phone up again after the operator removed its device', browserTest, async () => {
  const { page } = await sandbox.phone()
  await page.goto((await sandbox.create()).universal_link)
  await press(page, 'Set up this phone')
  await screen(page, 'request')
  await sandbox.removeDevices()

  const session = await sandbox.create()
  await page.goto(session.universal_link)
  await screen(page, 'problem')
  await press(page, 'Set up this phone again')
  await screen(page, 'setup')
  await press(page, 'Set up this phone')
  await press(page, 'Approve')
  await screen(page, 'approved')
  assert.equal((await sandbox.stateOf(session)).state, 'bonded')
})

test('keeps the session pending when the passkey was deleted', browserTest, async () => {
  const session = await sandbox.create()
  const phone = await sandbox.phone()
  const { page } = phone
  await page.goto(session.universal_link)
  await press(page, 'Set up this phone')
  await screen(page, 'request')
  await phone.clearPasskeys()
  await press(page, 'Approve')
  await page.getByRole('alert').waitFor()
  assert.equal((await sandbox.stateOf(session)).state, 'pending')
})

test('follows the session when the tenant kills it', browserTest, async () => {
  const session = await sandbox.create()
  const { page } = await sandbox.phone()
  await page.goto(session.universal_link)
  await press(page, 'Set up this phone')
  await screen(page, 'request')
  await sandbox.kill(session)
  await screen(page, 'ended')
  assert.equal(await page.getByRole('heading').textContent(), 'The request was canceled')
})

test('tells a second phone that another one opened the request', browserTest, async () => {
  const session = await sandbox.create()
  const first = await sandbox.phone()
  await first.page.goto(session.universal_link)
  await press(first.page, 'Set up this phone')
  await screen(first.page, 'request')
  const second = await sandbox.phone()
  await second.page.goto(session.universal_link)
  await press(second.page, 'Set up this phone')
  await screen(second.page, 'problem')
  assert.equal(
    await second.page.getByRole('heading').textContent(),
    'Another phone opened this request',
  )
})

test(
  'says that it is offline, and continues when the connection is back',
  browserTest,
  async () => {
    const session = await sandbox.create()
    const { context, page } = await sandbox.phone()
    await page.goto(session.universal_link)
    await press(page, 'Set up this phone')
    await screen(page, 'request')
    await context.setOffline(true)
    await press(page, 'Approve')
    await page.getByRole('alert').waitFor()
    await context.setOffline(false)
    await press(page, 'Approve')
    await screen(page, 'approved')
  },
)

test('shows a computer the way to a phone', browserTest, async () => {
  const page = await sandbox.computer()
  const { universal_link } = await sandbox.create()
  await page.goto(universal_link)
  await screen(page, 'desktop')
  const png = await page.getByRole('img', { name: 'QR code' }).screenshot()
  assert.equal(readQr(png), universal_link)
  assert.ok(Math.min(...quietZoneOf(png)) >= 4)
})

test('reports an incomplete link', browserTest, async () => {
  const { page } = await sandbox.phone()
  await page.goto(`${sandbox.origin}/bond?session_id=sess_1`)
  await screen(page, 'problem')
  assert.equal(await page.getByRole('heading').textContent(), 'This link is not complete')
})

test('opening the link changes nothing', browserTest, async () => {
  const session = await sandbox.create()
  const { page } = await sandbox.phone()
  await page.goto(session.universal_link)
  await screen(page, 'setup')
  assert.equal((await sandbox.stateOf(session)).state, 'pending')
})
