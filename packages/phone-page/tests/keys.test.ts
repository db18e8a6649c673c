import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserMissing } from '../../../tests/browser.ts'
import { NO_APPS } from '../../server/src/adapters/attestation/phone-trust.ts'
import { installAuthenticator, type KeyKind, VENDOR_ROOT } from './hardware-authenticator.ts'
import { carry, installSensors, skip } from './motion-driver.ts'
import { heading, press, type PhoneBrowser, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

const browserTest = { skip: browserMissing, timeout: 600_000 }
const SYNCED_NOTE = 'Your passkey is synced'
let bank: Sandbox
before(async () => {
  if (browserMissing) return
  bank = await Sandbox.start({
    environment: 'production',
    phones: { ...NO_APPS, webauthn: { packedRoots: [VENDOR_ROOT], testRoots: [] } },
    workflows: [
      // The production default.
      {},
      { name: 'attested', webauthn: 'attested' },
      { name: 'known', webauthn: 'known' },
      { name: 'strong', require: ['band:high'] },
      { name: 'bound', webauthn: 'attested', require: ['browser'] },
    ],
  })
})
after(async () => bank?.[Symbol.asyncDispose]())

async function phoneWith(kind: KeyKind): Promise<PhoneBrowser> {
  return (await changeablePhone(kind)).phone
}

/** A phone whose next key is of the kind that a test sets. */
async function changeablePhone(kind: KeyKind) {
  const phone = await bank.phone()
  const authenticator = { origin: bank.origin, kind }
  await installAuthenticator(phone.context, authenticator)
  return { phone, page: phone.page, authenticator }
}

test('a production tenant bonds through an attested key of the phone', browserTest, async () => {
  const session = await bank.create()
  const { page, context, open } = await phoneWith('attested')
  await open(session)
  await press(page, 'Approve')
  await screen(page, 'approved')
  const { state, verification } = await bank.stateOf(session)
  assert.equal(state, 'bonded')
  assert.deepEqual([verification?.local_auth, verification?.key_attested], ['verified', true])
  assert.ok((verification?.assertion_confidence ?? 0) >= 0.6)
  assert.ok(!(await page.locator('main').innerText()).includes(SYNCED_NOTE))
  await context.close()
})

test('explains the second passkey that an attested phone creates', browserTest, async () => {
  const session = await bank.create({ workflow: 'bound' })
  const { phone, page, authenticator } = await changeablePhone('attested')
  await phone.open(session)
  await press(page, 'Approve')
  await screen(page, 'browser_key')
  assert.equal(await heading(page), 'First, a passkey for the browser')
  assert.ok((await page.locator('main').innerText()).includes('€12,500.00'))
  const [device] = await bank.devices()
  assert.equal(device?.browserKey, undefined)
  authenticator.kind = 'unattested'
  await press(page, 'Continue')
  await screen(page, 'awaiting_browser')
  const [holder] = await bank.devices()
  assert.ok(holder?.browserKey)
  await phone.context.close()
})

test('an attested phone declines before it creates a second passkey', browserTest, async () => {
  const session = await bank.create({ workflow: 'bound' })
  const { phone, page } = await changeablePhone('attested')
  await phone.open(session)
  await press(page, 'Approve')
  await screen(page, 'browser_key')
  await press(page, 'Decline')
  await screen(page, 'ended')
  assert.equal((await bank.stateOf(session)).state, 'killed')
  await phone.context.close()
})

test('an attested key and motion reach the highest band', browserTest, async () => {
  const session = await bank.create({ workflow: 'strong' })
  const { page, context, open } = await phoneWith('attested')
  await installSensors(page, 'granted')
  await open(session)
  await carry(bank, page, 1)
  await press(page, 'Approve')
  await page.getByRole('heading', { name: 'Checking that the phone is held…' }).waitFor()
  await skip(bank, page, 5_000)
  await screen(page, 'step_up')
  await carry(bank, page, 45)
  await page.locator('button:enabled', { hasText: 'Continue' }).click()
  await screen(page, 'approved')
  assert.equal((await bank.stateOf(session)).verification?.assertion_band, 'high')
  await context.close()
})

for (const kind of ['unattested', 'self-attested', 'synced', 'attested but synced'] as const)
  test(
    `a strict workflow rejects a first key without proof, and keeps none: ${kind}`,
    browserTest,
    async () => {
      const { page, context } = await phoneWith(kind)
      const discarded = await discardedKeys(context)
      for (const workflow of ['attested', 'known', 'strong']) {
        discarded.length = 0
        const session = await bank.create({ workflow })
        await page.goto(session.universal_link)
        await press(page, 'Set up this phone')
        await screen(page, 'problem')
        assert.equal(await heading(page), 'This browser cannot approve this request', workflow)
        assert.equal((await bank.stateOf(session)).state, 'pending')
        assert.equal(discarded.length, 1, workflow)
      }
      await context.close()
    },
  )

test(
  'keeps the former key when a strict workflow rejects the one in its place',
  browserTest,
  async () => {
    const { phone, page, authenticator } = await changeablePhone('unattested')
    const discarded = await discardedKeys(phone.context)
    await phone.open(await bank.create())
    authenticator.kind = 'self-attested'
    await page.goto((await bank.create({ workflow: 'attested' })).universal_link)
    await press(page, 'Continue')
    await screen(page, 'problem')
    assert.equal(await heading(page), 'This browser cannot approve this request')
    assert.equal(discarded.length, 1)
    const [newest, former] = await bank.devices()
    assert.deepEqual(discarded, [newest?.keyId])
    const session = await bank.create()
    await page.goto(session.universal_link)
    await screen(page, 'request')
    assert.equal((await bank.stateOf(session)).state, 'pending')
    assert.notEqual(former?.keyId, newest?.keyId)
    await phone.context.close()
  },
)

/** The ids of the keys that the page asks the platform to remove. */
async function discardedKeys(context: PhoneBrowser['context']): Promise<string[]> {
  const ids: string[] = []
  await context.exposeFunction('discarded', (id: string) => void ids.push(id))
  await context.addInitScript(`PublicKeyCredential.signalUnknownCredential =
    ({ credentialId }) => discarded(credentialId)`)
  return ids
}

for (const kind of ['unattested', 'synced'] as const)
  test(`a production tenant accepts a key that it knows: ${kind}`, browserTest, async () => {
    const { page, context, open } = await phoneWith(kind)
    const first = await bank.create()
    await open(first)
    await press(page, 'Approve')
    await screen(page, 'approved')
    const { subject_ref, verification } = await bank.stateOf(first)
    assert.deepEqual([verification?.assertion_band, verification?.key_attested], ['low', false])
    assert.ok((verification?.human_presence_confidence ?? 1) < 0.55)
    await bank.complete(first, 'accepted')

    for (const workflow of ['credit_application', 'known']) {
      const session = await bank.create({ workflow, subject_ref })
      await page.goto(session.universal_link)
      await press(page, 'Approve')
      await screen(page, 'approved')
      const known = await bank.stateOf(session)
      assert.deepEqual([known.state, known.subject_ref], ['bonded', subject_ref])
      assert.equal(known.verification?.assertion_band, 'medium', workflow)
    }

    const other = await phoneWith(kind)
    await other.open(await bank.create())
    const foreign = await bank.create({ workflow: 'known', subject_ref })
    await other.page.goto(foreign.universal_link)
    await screen(other.page, 'problem')
    assert.equal(await heading(other.page), 'This phone cannot approve this request')
    await context.close()
    await other.context.close()
  })

test(
  'a synced passkey is scored low, and the page says that it is synced',
  browserTest,
  async () => {
    const session = await bank.create()
    const { page, context, open } = await bank.phone({
      defaultBackupEligibility: true,
      defaultBackupState: true,
    })
    await open(session)
    await press(page, 'Approve')
    await screen(page, 'approved')
    assert.ok((await page.locator('main').innerText()).includes(SYNCED_NOTE))
    const { verification } = await bank.stateOf(session)
    assert.equal(verification?.assertion_band, 'low')
    assert.ok((verification?.assertion_confidence ?? 1) < 0.55)
    await context.close()
  },
)

test('a key is rejected while it is younger than the workflow allows', browserTest, async () => {
  await using young = await Sandbox.start({ workflows: [{ min_key_age_seconds: 86_400 }] })
  const { page } = await young.phone()
  await page.goto((await young.create()).universal_link)
  await press(page, 'Set up this phone')
  await screen(page, 'problem')
  assert.equal(await heading(page), 'This phone was set up too recently')
  young.advance(86_400_000)
  const session = await young.create()
  await page.goto(session.universal_link)
  await press(page, 'Approve')
  await screen(page, 'approved')
})

test('a passkey is discoverable where the workflow needs no attestation', browserTest, async () => {
  const { context, open, passkeys } = await bank.phone()
  await open(await bank.create())
  const [passkey, ...others] = await passkeys()
  assert.deepEqual(
    [passkey?.isResidentCredential, passkey?.rpId, others.length],
    [true, new URL(bank.origin).hostname, 0],
  )
  await context.close()
})

test(
  'an authenticator whose attestation does not suffice costs one prompt and leaves no passkey',
  browserTest,
  async () => {
    const { page, context, passkeys } = await bank.phone()
    const before = (await bank.devices()).length
    await page.goto((await bank.create({ workflow: 'attested' })).universal_link)
    await press(page, 'Set up this phone')
    await screen(page, 'problem')
    assert.equal(await heading(page), 'This browser cannot approve this request')
    assert.deepEqual(await passkeys(), [])
    assert.equal((await bank.devices()).length, before)
    await context.close()
  },
)

test('a strict workflow offers a new key in place of an unattested one', browserTest, async () => {
  const { phone, page, authenticator } = await changeablePhone('unattested')
  await phone.open(await bank.create())

  // The phone cannot attest: one prompt, a screen that names what works, and the old key stays.
  const strict = await bank.create({ workflow: 'attested' })
  const { length } = await bank.devices()
  await page.goto(strict.universal_link)
  await screen(page, 'new_key')
  assert.ok((await page.locator('main').innerText()).includes('Harbour Bank accepts only'))
  await press(page, 'Continue')
  await screen(page, 'problem')
  assert.equal(await heading(page), 'This browser cannot approve this request')
  assert.ok((await page.locator('main').innerText()).includes('Android'))
  assert.equal((await bank.devices()).length, length)
  await page.goto((await bank.create()).universal_link)
  await screen(page, 'request')

  authenticator.kind = 'attested'
  await page.goto(strict.universal_link)
  await press(page, 'Continue')
  await screen(page, 'request')
  await press(page, 'Approve')
  await screen(page, 'approved')
  assert.equal((await bank.stateOf(strict)).state, 'bonded')
  await phone.context.close()
})

test('an iPhone reads what works in a strict workflow, without a prompt', browserTest, async () => {
  const userAgent =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1'
  const { page, context, passkeys } = await bank.phone({}, { userAgent })
  await page.goto((await bank.create({ workflow: 'attested' })).universal_link)
  await screen(page, 'problem')
  assert.equal(await heading(page), 'This browser cannot approve this request')
  assert.deepEqual(await passkeys(), [])

  await page.goto((await bank.create()).universal_link)
  await screen(page, 'setup')
  await context.close()
})
