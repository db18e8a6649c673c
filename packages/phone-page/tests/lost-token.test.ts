import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserMissing } from '../../../tests/browser.ts'
import { heading, press, type PhoneBrowser, recordPrompts, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

const browserTest = { skip: browserMissing, timeout: 600_000 }
const RECOVER = 'I have used this phone before'
const SET_UP = 'Set up this phone'
const DAY_MS = 24 * 60 * 60_000
const SYNCED = { defaultBackupEligibility: true, defaultBackupState: true }

let bank: Sandbox
before(async () => {
  if (browserMissing) return
  bank = await Sandbox.start({
    environment: 'production',
    workflows: [
      // The production default.
      {},
      { name: 'attested', webauthn: 'attested' },
      { name: 'apps', formats: ['apple-app-attest', 'android-key'] },
    ],
  })
})
after(async () => bank?.[Symbol.asyncDispose]())

/** A phone that has approved once, for a tenant that accepted the request. */
async function knownPhone(options: Parameters<Sandbox['phone']>[0] = {}) {
  await bank.removeDevices()
  const phone = await bank.phone(options)
  const session = await bank.create()
  await phone.open(session)
  await press(phone.page, 'Approve')
  await screen(phone.page, 'approved')
  const { subject_ref } = await bank.stateOf(session)
  await bank.complete(session, 'accepted')
  await screen(phone.page, 'completed')
  return { ...phone, subject_ref, prompts: await recordPrompts(phone.page) }
}

const buttonsOf = ({ page }: PhoneBrowser) => page.locator('article button').allTextContents()
const ids = async () => (await bank.devices()).map(({ id }) => id)
const notRecovered = ({ page }: PhoneBrowser) =>
  page.getByRole('alert').filter({ hasText: 'did not confirm a passkey' }).waitFor()

for (const [kind, options] of [
  ['of one phone', {}],
  ['synced', SYNCED],
] as const)
  test(
    `a cleared phone recovers with one prompt, and its user stays known: a passkey ${kind}`,
    browserTest,
    async () => {
      const phone = await knownPhone(options)
      const { page, subject_ref, prompts } = phone
      const known = await ids()
      await phone.clearStorage()
      const session = await bank.create({ subject_ref })
      await page.goto(session.universal_link)
      await screen(page, 'setup')
      // A new key would belong to a new user, whom this session rejects.
      assert.deepEqual(await buttonsOf(phone), [RECOVER])
      await press(page, RECOVER)
      await screen(page, 'request')
      assert.deepEqual(prompts, ['get'])
      await press(page, 'Approve')
      await screen(page, 'approved')
      assert.deepEqual(prompts, ['get', 'get'])
      const bonded = await bank.stateOf(session)
      assert.deepEqual(
        [bonded.state, bonded.subject_ref, bonded.verification?.assertion_band],
        ['bonded', subject_ref, 'medium'],
      )
      assert.deepEqual(await ids(), known)

      // The phone remembers again.
      await page.goto((await bank.create()).universal_link)
      await screen(page, 'request')
      await phone.context.close()
    },
  )

test('a first visit offers the setup first, and a recovery beside it', browserTest, async () => {
  const phone = await knownPhone()
  const { page, prompts } = phone
  const known = await ids()
  await phone.clearStorage()
  const session = await bank.create()
  await page.goto(session.universal_link)
  await screen(page, 'setup')
  assert.deepEqual(await buttonsOf(phone), [SET_UP, RECOVER])
  // The browser may also have kept the passkey for longer than the token.
  bank.advance(200 * DAY_MS)
  const later = await bank.create()
  await page.goto(later.universal_link)
  await press(page, RECOVER)
  await screen(page, 'request')
  assert.deepEqual([await ids(), prompts], [known, ['get']])
  await phone.context.close()
})

test('a phone without a passkey ends in the usual setup', browserTest, async () => {
  const phone = await bank.phone()
  const { page } = phone
  const session = await bank.create()
  await page.goto(session.universal_link)
  await press(page, RECOVER)
  await notRecovered(phone)
  assert.deepEqual(await buttonsOf(phone), [SET_UP, RECOVER])
  await press(page, SET_UP)
  await press(page, 'Approve')
  await screen(page, 'approved')
  assert.equal((await bank.stateOf(session)).state, 'bonded')
  await phone.context.close()
})

test('a passkey whose device was removed ends in the usual setup', browserTest, async () => {
  const phone = await knownPhone()
  const { page, subject_ref } = phone
  await phone.clearStorage()
  await bank.removeDevices()
  await page.goto((await bank.create()).universal_link)
  await press(page, RECOVER)
  await notRecovered(phone)
  await press(page, SET_UP)
  await screen(page, 'request')

  await phone.clearStorage()
  await phone.clearPasskeys()
  await page.goto((await bank.create({ subject_ref })).universal_link)
  await press(page, RECOVER)
  await notRecovered(phone)
  // A session that names its user needs the passkey of that user, perhaps in another browser.
  assert.deepEqual(await buttonsOf(phone), [RECOVER, 'Copy link'])
  assert.ok((await page.locator('main').innerText()).includes('contact the organization'))
  await phone.context.close()
})

test('recovers after a lost response, and the user confirms again', browserTest, async () => {
  const phone = await knownPhone()
  const { page, context, prompts } = phone
  const known = await ids()
  await phone.clearStorage()
  await context.route('**/devices/recovery', async (route) => {
    await route.fetch()
    await route.abort()
  })
  await page.goto((await bank.create()).universal_link)
  await press(page, RECOVER)
  await page.getByRole('heading', { name: 'No connection' }).waitFor()
  await context.unroute('**/devices/recovery')
  // The page notices the connection by itself.
  await screen(page, 'setup')
  await press(page, RECOVER)
  await screen(page, 'request')
  assert.deepEqual([await ids(), prompts], [known, ['get', 'get']])
  await context.close()
})

test('a synced passkey takes its device to another phone and back', browserTest, async () => {
  const one = await knownPhone(SYNCED)
  const { subject_ref } = one
  const known = await ids()
  const other = await bank.phone(SYNCED)
  /** The counters of Chromium's authenticators rise; that of a synced passkey does not. */
  const sync = async (from: PhoneBrowser, to: PhoneBrowser) => {
    await to.clearPasskeys()
    await to.addPasskeys(await from.passkeys())
  }
  const approveOn = async ({ page }: PhoneBrowser) => {
    const session = await bank.create({ subject_ref })
    await page.goto(session.universal_link)
    await page.locator('article:is([data-screen=setup], [data-screen=problem])').waitFor()
    if ((await heading(page)) === 'Set up this phone again')
      await press(page, 'Set up this phone again')
    await press(page, RECOVER)
    await press(page, 'Approve')
    await screen(page, 'approved')
    assert.equal((await bank.stateOf(session)).subject_ref, subject_ref)
  }
  await sync(one, other)
  await approveOn(other)
  // The first phone's token has ended.
  await sync(other, one)
  await approveOn(one)
  await sync(one, other)
  await approveOn(other)
  assert.deepEqual(await ids(), known)
  await one.context.close()
  await other.context.close()
})

test('the timeline of an open request notes the recovery', browserTest, async () => {
  const phone = await knownPhone()
  const { page } = phone
  const session = await bank.create()
  await page.goto(session.universal_link)
  await screen(page, 'request')
  await phone.clearStorage()
  await page.reload()
  await press(page, RECOVER)
  await press(page, 'Approve')
  await screen(page, 'approved')
  const notes = await bank.notesOf(session)
  assert.deepEqual(
    notes.filter((note) => note?.startsWith('device_')),
    ['device_token_recovered', 'device_token_rotated'],
  )
  await phone.context.close()
})

test(
  'offers no recovery where the workflow rejects the passkeys that can be found',
  browserTest,
  async () => {
    const phone = await bank.phone()
    await phone.page.goto((await bank.create({ workflow: 'attested' })).universal_link)
    await screen(phone.page, 'setup')
    assert.deepEqual(await buttonsOf(phone), [SET_UP])
    await phone.context.close()
  },
)

test(
  'names the app where the workflow accepts no passkey, before it creates one',
  browserTest,
  async () => {
    const phone = await bank.phone()
    const { page } = phone
    await page.goto((await bank.create({ workflow: 'apps' })).universal_link)
    await screen(page, 'problem')
    assert.equal(await heading(page), 'This request needs the app')
    assert.ok((await page.locator('main').innerText()).includes('only in its app'))
    assert.deepEqual(await phone.passkeys(), [])

    // A phone that is set up learns it from the rejection.
    await phone.open(await bank.create())
    await page.goto((await bank.create({ workflow: 'apps' })).universal_link)
    await screen(page, 'problem')
    assert.equal(await heading(page), 'This request needs the app')
    await phone.context.close()
  },
)
