import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { browserMissing } from '../../../tests/browser.ts'
import { NO_APPS } from '../../server/src/adapters/attestation/phone-trust.ts'
import type { AFTER_PROMPT } from '../src/failures.ts'
import { always, failed, failNext, installFaults } from './faults.ts'
import { installAuthenticator, type KeyKind, VENDOR_ROOT } from './hardware-authenticator.ts'
import { heading, press, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

/*
 * Each failure of the phone's browser in Chromium: the sentence, the buttons, and where they lead.
 * `browser-frame.test.ts` has the failures of the service's frame.
 */

const browserTest = { skip: browserMissing, timeout: 600_000 }
const DAY_MS = 24 * 60 * 60_000
let bank: Sandbox
before(async () => {
  if (browserMissing) return
  bank = await Sandbox.start({
    phones: { ...NO_APPS, webauthn: { packedRoots: [VENDOR_ROOT], testRoots: [] } },
    workflows: [
      {},
      { name: 'attested', webauthn: 'attested' },
      { name: 'bound', webauthn: 'attested', require: ['browser'] },
      { name: 'inbox', delivery: 'inbox' },
    ],
  })
})
after(async () => bank?.[Symbol.asyncDispose]())

/** The error of each kind of failure. Every other name is one of the same kinds. */
const ERRORS = {
  denied: 'NotAllowedError',
  failed: 'UnknownError',
  final: 'SecurityError',
} as const
type Kind = keyof typeof ERRORS

/** What the user sees. `alert` is a notice on a screen that shows its own actions. */
interface Shown {
  readonly title: string
  readonly says?: RegExp
  readonly buttons: readonly string[]
  readonly hasLink?: boolean
}

const NOT_CREATED: Shown = {
  title: 'No passkey was created',
  says: /You closed the prompt, or this browser is inside an app without passkeys\./,
  buttons: ['Try again', 'Copy link'],
  hasLink: true,
}
const OTHER_BROWSER: Shown = {
  title: 'Open this link in Safari or Chrome',
  buttons: ['Copy link'],
  hasLink: true,
}
const NOT_VERIFIED = /Your phone did not confirm it was you\. Nothing was approved\. Try again\./
const REQUEST: Shown = {
  title: 'Harbour Bank asks for your approval',
  says: NOT_VERIFIED,
  buttons: ['Approve', 'This wasn’t me', 'Decline'],
}
const NOT_CONFIRMED: Shown = {
  title: 'Your phone did not confirm it was you',
  buttons: ['Try again', 'Set up this phone again'],
}
const UNEXPECTED: Shown = {
  title: 'Something went wrong',
  says: /Nothing was approved\. Try again\. If it happens again, start over on the page\./,
  buttons: ['Try again'],
}
const STORAGE: Shown = {
  title: 'This browser cannot store your setup',
  says: /Try again\. If it happens again, close private browsing, or allow this site to store data\./,
  buttons: ['Try again'],
}
const NOT_FOUND: Shown = {
  title: 'Harbour Bank asks for your approval',
  says: /Your phone did not confirm a passkey that the service knows\./,
  buttons: ['Set up this phone', 'I have used this phone before'],
}
const PHONES: Shown = {
  title: 'Your phones',
  says: NOT_VERIFIED,
  buttons: ['Remove phone', 'Close'],
}
const INBOX: Shown = { title: 'Inbox', buttons: ['Open', 'Your phones'] }

/** What follows the first failure, and the same one after the user has tried again. */
const ROWS: Record<
  Exclude<keyof typeof AFTER_PROMPT, 'add_key'>,
  Record<Kind, readonly Shown[]>
> = {
  set_up: {
    denied: [NOT_CREATED, NOT_CREATED],
    failed: [NOT_CREATED, NOT_CREATED],
    final: [OTHER_BROWSER],
  },
  approve: {
    denied: [REQUEST, NOT_CONFIRMED],
    failed: [REQUEST, UNEXPECTED],
    final: [REQUEST, UNEXPECTED],
  },
  open: {
    denied: [NOT_CONFIRMED, NOT_CONFIRMED],
    failed: [UNEXPECTED, UNEXPECTED],
    final: [UNEXPECTED, UNEXPECTED],
  },
  recover: {
    denied: [NOT_FOUND, NOT_FOUND],
    failed: [NOT_FOUND, NOT_FOUND],
    final: [OTHER_BROWSER],
  },
  remove: { denied: [PHONES, PHONES], failed: [PHONES, PHONES], final: [UNEXPECTED, UNEXPECTED] },
}

async function sees(page: Page, { title, says, buttons, hasLink = false }: Shown): Promise<void> {
  await page.getByRole('heading', { name: title, exact: true }).waitFor()
  if (says) await page.getByText(says).waitFor()
  assert.equal(await heading(page), title)
  assert.deepEqual(await page.getByRole('button').allTextContents(), buttons)
  assert.equal(await page.locator('.link').count(), Number(hasLink))
}

/** How a user reaches a prompt, also again after a failure, and the screen after a success. */
const MOMENTS = {
  async set_up() {
    const phone = await bank.phone()
    await installFaults(phone.page)
    await phone.page.goto((await bank.create()).universal_link)
    const act = () => press(phone.page, 'Set up this phone')
    return { ...phone, call: 'create', act, reached: 'request' } as const
  },
  async approve() {
    const phone = await knownPhone()
    return {
      ...phone,
      call: 'get',
      act: () => press(phone.page, 'Approve'),
      reached: 'approved',
    } as const
  },
  async open() {
    const phone = await knownPhone()
    bank.advance(200 * DAY_MS)
    await phone.page.goto((await bank.create()).universal_link)
    const act = () => press(phone.page, 'Continue')
    return { ...phone, call: 'get', act, reached: 'request' } as const
  },
  async recover() {
    const phone = await knownPhone()
    await phone.clearStorage()
    await phone.page.goto((await bank.create()).universal_link)
    const act = () => press(phone.page, 'I have used this phone before')
    return { ...phone, call: 'get', act, reached: 'request' } as const
  },
  async remove() {
    const phone = await knownPhone()
    await press(phone.page, 'Decline')
    await press(phone.page, 'Your phones')
    const act = async () => {
      await press(phone.page, 'Remove phone')
      await screen(phone.page, 'removal')
      await press(phone.page, 'Remove phone')
    }
    return { ...phone, call: 'get', act, reached: 'ended' } as const
  },
}

/** A phone that is set up and shows a request. */
async function knownPhone() {
  const phone = await bank.phone()
  await installFaults(phone.page)
  await phone.open(await bank.create())
  return phone
}

for (const [moment, kinds] of Object.entries(ROWS))
  for (const [kind, steps] of Object.entries(kinds))
    test(`${moment}: ${ERRORS[kind as Kind]} leads on`, browserTest, async () => {
      const { page, context, call, act, reached } = await MOMENTS[moment as keyof typeof MOMENTS]()
      for (const shown of steps) {
        await failNext(page, { [call]: [ERRORS[kind as Kind]] })
        await act()
        await failed(page)
        await sees(page, shown)
        if (shown.buttons[0] === 'Try again') await press(page, 'Try again')
      }
      if (steps.length > 1) {
        await act()
        await screen(page, reached)
      }
      await context.close()
    })

test('an inbox that the user cannot open twice offers a way on', browserTest, async () => {
  const { page, context } = await knownPhone()
  await page.goto(`${bank.origin}/inbox`)
  for (const shown of [INBOX, NOT_CONFIRMED]) {
    await failNext(page, { get: [ERRORS.denied] })
    await press(page, 'Open')
    await failed(page)
    await sees(page, shown)
  }
  await press(page, 'Try again')
  await failNext(page, { get: [ERRORS.failed] })
  await press(page, 'Open')
  await sees(page, { title: UNEXPECTED.title, buttons: ['Try again'] })
  await context.close()
})

/** A phone with an attested key, at the explanation of its second passkey. */
async function phoneThatAddsAKey() {
  const phone = await bank.phone()
  const authenticator: { origin: string; kind: KeyKind } = { origin: bank.origin, kind: 'attested' }
  await installAuthenticator(phone.context, authenticator)
  await installFaults(phone.page)
  await phone.open(await bank.create({ workflow: 'bound' }))
  authenticator.kind = 'unattested'
  const act = async () => {
    await press(phone.page, 'Approve')
    await screen(phone.page, 'browser_key')
    await press(phone.page, 'Continue')
  }
  return { ...phone, act }
}

for (const [kind, steps] of [
  ['denied', [REQUEST, UNEXPECTED]],
  ['failed', [REQUEST, UNEXPECTED]],
  ['final', [UNEXPECTED, UNEXPECTED]],
] as const)
  test(`add_key: ${ERRORS[kind]} keeps the session in this browser`, browserTest, async () => {
    const { page, context, act } = await phoneThatAddsAKey()
    for (const shown of steps) {
      await failNext(page, { create: [ERRORS[kind]] })
      await act()
      await sees(page, shown)
      if (shown === UNEXPECTED) await press(page, 'Try again')
    }
    await act()
    await screen(page, 'awaiting_browser')
    await context.close()
  })

test(
  'a phone that is set up again shows no link for a session of its former key',
  browserTest,
  async () => {
    const phone = await knownPhone()
    const { page, context } = phone
    await phone.clearPasskeys()
    await press(page, 'Approve')
    await sees(page, REQUEST)
    await press(page, 'Approve')
    await sees(page, NOT_CONFIRMED)
    await press(page, 'Set up this phone again')
    await failNext(page, { create: [ERRORS.denied] })
    await press(page, 'Set up this phone')
    await sees(page, UNEXPECTED)
    await press(page, 'Try again')
    await press(page, 'Set up this phone')
    await sees(page, { title: 'Start again on the page', buttons: ['Close'] })
    await context.close()
  },
)

test('a passkey in another browser is named with the link', browserTest, async () => {
  const known = await knownPhone()
  await press(known.page, 'Approve')
  await screen(known.page, 'approved')
  const { page, context } = await bank.phone()
  await installFaults(page)
  const { subject_ref } = await bank.stateOf(await bonded())
  await page.goto((await bank.create({ subject_ref })).universal_link)
  await failNext(page, { get: [ERRORS.denied] })
  await press(page, 'I have used this phone before')
  await sees(page, {
    title: NOT_FOUND.title,
    says: /use the same phone and browser\./,
    buttons: ['I have used this phone before', 'Copy link'],
    hasLink: true,
  })
  await known.context.close()
  await context.close()
})

/** A session that a new phone has approved. */
async function bonded() {
  const session = await bank.create()
  const { page, context, open } = await bank.phone()
  await open(session)
  await press(page, 'Approve')
  await screen(page, 'approved')
  await context.close()
  return session
}

for (const [name, faults] of [
  ['reads once in vain', { read: ['UnknownError'] }],
  ['writes once in vain', { write: ['QuotaExceededError'] }],
  ['never writes', { write: always('QuotaExceededError') }],
  ['blocks the storage of hints', { hint: always('SecurityError') }],
] as const)
  test(`a browser that ${name} sets up the phone and approves`, browserTest, async () => {
    const { page, context, open } = await bank.phone()
    await installFaults(page, faults)
    const session = await bank.create()
    await open(session)
    await press(page, 'Approve')
    await screen(page, 'approved')
    assert.equal((await bank.stateOf(session)).state, 'bonded')
    await context.close()
  })

test('a key that the browser never stores is found by its passkey', browserTest, async () => {
  await bank.removeDevices()
  const { page, context, open } = await bank.phone()
  await installFaults(page, { write: always('QuotaExceededError') })
  await open(await bank.create())
  const [device] = await bank.devices()
  await page.goto((await bank.create()).universal_link)
  await press(page, 'I have used this phone before')
  await screen(page, 'request')
  assert.deepEqual(
    (await bank.devices()).map(({ id }) => id),
    [device?.id],
  )
  await context.close()
})

test('a browser that cannot read its storage may be tried again', browserTest, async () => {
  const { page, context } = await bank.phone()
  await installFaults(page, { read: ['UnknownError', 'UnknownError'] })
  await page.goto((await bank.create()).universal_link)
  await sees(page, STORAGE)
  await press(page, 'Try again')
  await screen(page, 'setup')
  await context.close()
})

test(
  'a key that nothing would find again is removed at the service and the authenticator',
  browserTest,
  async () => {
    await bank.removeDevices()
    const { page, context } = await bank.phone()
    await installAuthenticator(context, { origin: bank.origin, kind: 'attested' })
    await installFaults(page)
    await page.goto((await bank.create({ workflow: 'attested' })).universal_link)
    await failNext(page, { write: always('QuotaExceededError') })
    await press(page, 'Set up this phone')
    await sees(page, STORAGE)
    assert.deepEqual(await bank.devices(), [])
    await failNext(page, {})
    await press(page, 'Try again')
    await press(page, 'Set up this phone')
    await screen(page, 'request')
    assert.equal((await bank.devices()).length, 1)
    await context.close()
  },
)

/** A phone at its inbox. */
async function phoneAtInbox() {
  const phone = await knownPhone()
  await phone.page.goto(`${bank.origin}/inbox`)
  await screen(phone.page, 'inbox')
  return phone
}

test('an inbox without a connection says so, and then counts again', browserTest, async () => {
  const { page, context } = await phoneAtInbox()
  const lost = page.getByText('No connection.')
  const waits = page.getByText('New requests appear here by themselves.')
  for (const name of ['inbox', 'list']) {
    if (name === 'list') await press(page, 'Open')
    await screen(page, name)
    await waits.waitFor()
    await page.route('**/api/v1/inbox', (route) => route.abort())
    await lost.waitFor()
    assert.equal(await waits.count(), 0)
    await page.unroute('**/api/v1/inbox')
    await waits.waitFor()
    assert.equal(await lost.count(), 0)
  }
  await context.close()
})

test('an inbox whose phone was removed is a problem', browserTest, async () => {
  const { page, context } = await phoneAtInbox()
  await bank.removeDevices()
  await screen(page, 'problem')
  assert.equal(await heading(page), 'Set up this phone again')
  await context.close()
})
