import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { browserMissing } from '../../../tests/browser.ts'
import { readRecordings, recordingsMissing } from '../../../scripts/continuity/recordings.ts'
import { carry, installSensors, replay, skip } from './motion-driver.ts'
import { heading, press, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

const browserTest = { skip: browserMissing, timeout: 600_000 }
let sandbox: Sandbox
before(async () => {
  if (browserMissing) return
  sandbox = await Sandbox.start({
    workflows: [
      {},
      { name: 'carried', require: ['sensor_continuity'] },
      { name: 'passport', passport: 'required' },
      { name: 'carrier', require: ['carrier'] },
      { name: 'strong', require: ['band:medium'] },
    ],
  })
})
after(async () => sandbox?.[Symbol.asyncDispose]())

/** Opens a session on a phone with sensors, and carries it. */
async function openCarried(seconds: number, body: object = {}) {
  const session = await sandbox.create(body)
  const phone = await sandbox.phone()
  await installSensors(phone.page, 'granted')
  await phone.open(session)
  await carry(sandbox, phone.page, seconds)
  return { session, phone, page: phone.page }
}

/** Approves a session with less motion than its workflow requires. */
async function approveWithLittleMotion(
  workflow: 'carried' | 'strong',
  seconds: number,
  body: object = {},
) {
  const opened = await openCarried(seconds, { workflow, ...body })
  await press(opened.page, 'Approve')
  if (seconds < 8) await skipCheck(opened.page)
  await screen(opened.page, 'step_up')
  return opened
}

const CHECKING = 'Checking that the phone is held…'

/** Lets the time pass in which an approval waits for motion. */
async function skipCheck(page: Page) {
  await page.getByRole('heading', { name: CHECKING }).waitFor()
  await skip(sandbox, page, 5_000)
}

test('adds the motion that a policy requires, and approves with it', browserTest, async () => {
  const { session, phone, page } = await approveWithLittleMotion('carried', 1)
  assert.equal(await heading(page), 'Keep your phone in your hand')
  assert.ok((await page.locator('main').innerText()).includes('€12,500.00'))
  assert.equal(await page.getByRole('button', { name: 'Continue' }).isDisabled(), true)
  assert.equal((await sandbox.stateOf(session)).state, 'step_up_required')
  assert.ok((await sandbox.notesOf(session)).includes('motion_too_short'))

  await carry(sandbox, page, 8)
  await page.locator('button:enabled', { hasText: 'Continue' }).click()
  await screen(page, 'approved')
  const { state, verification } = await sandbox.stateOf(session)
  assert.equal(state, 'bonded')
  assert.ok((verification?.sensor_continuity.continuity_score ?? 0) >= 0.6)
  await phone.context.close()
})

test('waits for eight seconds of motion before the passkey prompt', browserTest, async () => {
  const { session, phone } = await openCarried(4, { workflow: 'carried' })
  await press(phone.page, 'Approve')
  await phone.page.getByRole('heading', { name: CHECKING }).waitFor()
  await carry(sandbox, phone.page, 4.5)
  await screen(phone.page, 'approved')
  assert.deepEqual(await sandbox.notesOf(session), [])
  await phone.context.close()
})

test(
  'waits five seconds at most, and notes that the motion is too short',
  browserTest,
  async () => {
    const { session, phone } = await openCarried(3)
    await press(phone.page, 'Approve')
    await skipCheck(phone.page)
    await screen(phone.page, 'approved')
    assert.equal((await sandbox.stateOf(session)).state, 'bonded')
    assert.deepEqual(await sandbox.notesOf(session), ['motion_too_short'])
    await phone.context.close()
  },
)

test('ends while it waits for motion when the tenant kills the session', browserTest, async () => {
  const { session, phone } = await openCarried(3)
  await press(phone.page, 'Approve')
  await phone.page.getByRole('heading', { name: CHECKING }).waitFor()
  await sandbox.kill(session)
  await screen(phone.page, 'ended')
  await carry(sandbox, phone.page, 8)
  assert.equal(await heading(phone.page), 'The request was canceled')
  await phone.context.close()
})

test('approves with the motion of a real phone', {
  ...browserTest,
  skip: browserMissing || recordingsMissing,
}, async () => {
  const recording = readRecordings().find(({ samples }) => samples.length > 60 * 60)
  assert.ok(recording)
  const session = await sandbox.create({ workflow: 'carried' })
  const phone = await sandbox.phone()
  await installSensors(phone.page, 'granted')
  await phone.open(session)
  await replay(sandbox, phone.page, recording, { seconds: 8.5 })
  await press(phone.page, 'Approve')
  await screen(phone.page, 'approved')
  const { verification } = await sandbox.stateOf(session)
  assert.ok((verification?.sensor_continuity.continuity_score ?? 0) >= 0.6)
  await phone.context.close()
})

test(
  'asks for the sensors at the first tap where the browser requires one',
  browserTest,
  async () => {
    const phone = await sandbox.phone()
    const { page } = phone
    await installSensors(page, { asks: 'granted' })
    for (const visit of ['first', 'later']) {
      const session = await sandbox.create({ workflow: 'carried' })
      await page.goto(session.universal_link)
      await screen(page, visit === 'first' ? 'setup' : 'motion')
      assert.ok((await page.locator('main').innerText()).includes('held, not lying still'))
      await press(page, visit === 'first' ? 'Set up this phone' : 'Allow motion')
      await screen(page, 'request')
      await carry(sandbox, page, 8)
      await press(page, 'Approve')
      await screen(page, 'approved')
      const { verification } = await sandbox.stateOf(session)
      assert.ok((verification?.sensor_continuity.continuity_score ?? 0) >= 0.6, visit)
    }
    await phone.context.close()
  },
)

test('approves without motion where the policy does not require it', browserTest, async () => {
  for (const [sensors, note] of [
    [{ asks: 'denied' }, 'motion_denied'],
    [{ asks: 'granted' }, 'motion_missing'],
    ['silent', 'motion_missing'],
  ] as const) {
    const session = await sandbox.create()
    const phone = await sandbox.phone()
    await installSensors(phone.page, sensors)
    await phone.open(session)
    await press(phone.page, 'Approve')
    await screen(phone.page, 'approved')
    assert.equal((await sandbox.stateOf(session)).state, 'bonded', note)
    assert.deepEqual(await sandbox.notesOf(session), [note])
    await phone.context.close()
  }
})

for (const [sensors, name] of [
  ['silent', 'a browser without sensors'],
  [{ asks: 'denied' }, 'a user who denies the sensors'],
] as const)
  test(`says that motion is missing, and lets the user decline: ${name}`, browserTest, async () => {
    const session = await sandbox.create({ workflow: 'carried' })
    const phone = await sandbox.phone()
    const { page } = phone
    await installSensors(page, sensors)
    await phone.open(session)
    await press(page, 'Approve')
    await screen(page, 'step_up')
    if (sensors === 'silent') await skip(sandbox, page, 5_000)
    await page.getByRole('alert').filter({ hasText: 'motion sensors' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Continue' }).isVisible(), false)
    await press(page, 'Decline')
    await screen(page, 'ended')
    const { state, ended_reason } = await sandbox.stateOf(session)
    assert.deepEqual([state, ended_reason], ['killed', 'user_declined'])
    await phone.context.close()
  })

for (const [workflow, cause] of [
  ['passport', 'your passport’s chip'],
  ['carrier', 'your mobile network'],
] as const)
  test(`says that a browser cannot give a proof: ${workflow}`, browserTest, async () => {
    const session = await sandbox.create({ workflow })
    const phone = await sandbox.phone()
    const { page } = phone
    await phone.open(session)
    await press(page, 'Approve')
    await screen(page, 'problem')
    assert.equal(await heading(page), 'This request needs the app')
    assert.ok((await page.locator('main').innerText()).includes(cause))
    await press(page, 'This wasn’t me')
    await screen(page, 'ended')
    const { state, ended_reason } = await sandbox.stateOf(session)
    assert.deepEqual([state, ended_reason], ['killed', 'user_unexpected'])
    await phone.context.close()
  })

test('stops when motion does not raise the band of the key', browserTest, async () => {
  // The carrier could raise it: a key that cannot reach the band would be rejected at once.
  const number = { phone_number: '+491701234567' }
  const { session, phone, page } = await approveWithLittleMotion('strong', 45, number)
  await carry(sandbox, page, 8)
  await page.locator('button:enabled', { hasText: 'Continue' }).click()
  await screen(page, 'problem')
  assert.equal(await heading(page), 'This request needs the app')
  assert.equal((await sandbox.stateOf(session)).state, 'step_up_required')
  await press(page, 'Decline')
  await screen(page, 'ended')
  await phone.context.close()
})

test('ends a step-up when the tenant kills the session', browserTest, async () => {
  const { session, phone, page } = await approveWithLittleMotion('carried', 1)
  await sandbox.kill(session)
  await screen(page, 'ended')
  assert.equal(await heading(page), 'The request was canceled')
  await carry(sandbox, page, 2)
  assert.equal(await page.locator('article').getAttribute('data-screen'), 'ended')
  await phone.context.close()
})

test('continues a step-up after a reload of the page', browserTest, async () => {
  const { phone, page } = await approveWithLittleMotion('carried', 1)
  await page.reload()
  await screen(page, 'request')
  await carry(sandbox, page, 45)
  await press(page, 'Approve')
  await screen(page, 'step_up')
  await carry(sandbox, page, 8)
  await page.locator('button:enabled', { hasText: 'Continue' }).click()
  await screen(page, 'approved')
  await phone.context.close()
})
