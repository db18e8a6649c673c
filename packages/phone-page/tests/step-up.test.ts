import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserMissing } from '../../../tests/browser.ts'
import { readRecordings, recordingsMissing } from '../../../scripts/continuity/recordings.ts'
import { carry, installSensors, replay, skip } from './motion-driver.ts'
import { heading, press, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

const browserTest = { skip: browserMissing, timeout: 120_000 }
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

/** Opens a session on a phone with sensors, and approves it with less motion than its workflow requires. */
async function approveWithLittleMotion(
  workflow: 'carried' | 'strong',
  seconds: number,
  body: object = {},
) {
  const session = await sandbox.create({ workflow, ...body })
  const phone = await sandbox.phone()
  await installSensors(phone.page, 'granted')
  await phone.open(session)
  await carry(sandbox, phone.page, seconds)
  await press(phone.page, 'Approve')
  await screen(phone.page, 'step_up')
  return { session, phone, page: phone.page }
}

test('adds the motion that a policy requires, and approves with it', browserTest, async () => {
  const { session, phone, page } = await approveWithLittleMotion('carried', 1)
  assert.equal(await heading(page), 'Keep your phone in your hand')
  assert.ok((await page.locator('main').innerText()).includes('€12,500.00'))
  assert.equal(await page.getByRole('button', { name: 'Continue' }).isDisabled(), true)
  assert.equal((await sandbox.stateOf(session)).state, 'step_up_required')

  await carry(sandbox, page, 40)
  await page.locator('button:enabled', { hasText: 'Continue' }).click()
  await screen(page, 'approved')
  const { state, verification } = await sandbox.stateOf(session)
  assert.equal(state, 'bonded')
  assert.ok((verification?.sensor_continuity.continuity_score ?? 0) >= 0.6)
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
  await replay(sandbox, phone.page, recording, { seconds: 60 })
  await press(phone.page, 'Approve')
  await screen(phone.page, 'approved')
  const { verification } = await sandbox.stateOf(session)
  assert.ok((verification?.sensor_continuity.continuity_score ?? 0) >= 0.6)
  await phone.context.close()
})

test('asks for the sensors with a tap where the browser requires it', browserTest, async () => {
  const session = await sandbox.create({ workflow: 'carried' })
  const phone = await sandbox.phone()
  const { page } = phone
  await installSensors(page, { asks: 'granted' })
  await phone.open(session)
  await press(page, 'Approve')
  await screen(page, 'step_up')
  assert.equal(await page.getByRole('button', { name: 'Continue' }).isVisible(), false)
  await press(page, 'Allow motion')
  await page.locator('progress').waitFor({ state: 'visible' })
  await carry(sandbox, page, 45)
  await page.locator('button:enabled', { hasText: 'Continue' }).click()
  await screen(page, 'approved')
  assert.equal((await sandbox.stateOf(session)).state, 'bonded')
  await phone.context.close()
})

test('approves without motion where the policy does not require it', browserTest, async () => {
  for (const asks of ['denied', 'granted'] as const) {
    const session = await sandbox.create()
    const phone = await sandbox.phone()
    await installSensors(phone.page, { asks })
    await phone.open(session)
    await press(phone.page, 'Allow motion')
    await phone.page.getByRole('button', { name: 'Allow motion' }).waitFor({ state: 'detached' })
    await press(phone.page, 'Approve')
    await screen(phone.page, 'approved')
    assert.equal((await sandbox.stateOf(session)).state, 'bonded', asks)
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
    else await press(page, 'Allow motion')
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
  await carry(sandbox, page, 1)
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
  await page.locator('button:enabled', { hasText: 'Continue' }).click()
  await screen(page, 'approved')
  await phone.context.close()
})
