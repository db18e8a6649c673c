import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Invitation } from '@bonded/contract'
import { PhoneError } from '@bonded/phone'
import { browserMissing } from '../../../tests/browser.ts'
import { obstacleIn, recoveryFor, shownInvitation } from '../src/invitation.ts'
import { canAttest } from '../src/passkey.ts'
import { problemOf } from '../src/problem.ts'
import { heading, press, recordPrompts, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

const browserTest = { skip: browserMissing, timeout: 600_000 }
const MINUTE_MS = 60_000
let sandbox: Sandbox
before(async () => {
  if (browserMissing) return
  sandbox = await Sandbox.start({
    workflows: [
      {},
      {
        name: 'loan',
        title: { en: 'Loan application', de: 'Kreditantrag' },
        action_titles: { submit_application: { en: 'Submit' } },
      },
    ],
  })
})
after(async () => sandbox?.[Symbol.asyncDispose]())

test(
  'names the organization before it creates a passkey, and prompts twice, then once',
  browserTest,
  async () => {
    const { page, context, passkeys } = await sandbox.phone()
    const prompts = await recordPrompts(page)
    const first = await sandbox.create()
    await page.goto(first.universal_link)
    await screen(page, 'setup')
    assert.equal(await heading(page), 'Harbour Bank asks for your approval')
    assert.equal((await page.locator('main').innerText()).match(/passkey/g)?.length, 1)
    assert.deepEqual([await passkeys(), prompts], [[], []])

    await press(page, 'Set up this phone')
    await press(page, 'Approve')
    await screen(page, 'approved')
    assert.deepEqual(prompts, ['create', 'get'])
    await page.goto((await sandbox.create()).universal_link)
    await press(page, 'Approve')
    await screen(page, 'approved')
    assert.deepEqual(prompts, ['create', 'get', 'get'])
    await context.close()
  },
)

test('creates no passkey for a session that this phone cannot approve', browserTest, async () => {
  const { page, context, passkeys } = await sandbox.phone()
  const expired = await sandbox.create()
  sandbox.advance(3 * MINUTE_MS)
  await page.goto(expired.universal_link)
  await screen(page, 'problem')
  assert.equal(await heading(page), 'This QR code has expired')

  const killed = await sandbox.create()
  await sandbox.kill(killed)
  await page.goto(killed.universal_link)
  await page.getByRole('heading', { name: 'This request has ended' }).waitFor()

  const other = await sandbox.phone()
  const bonded = await sandbox.create()
  await other.open(bonded)
  await press(other.page, 'Approve')
  await screen(other.page, 'approved')
  await page.goto(bonded.universal_link)
  await page.getByRole('heading', { name: 'Another phone opened this request' }).waitFor()
  assert.deepEqual(await passkeys(), [])
  await other.context.close()
  await context.close()
})

test(
  'shows titles in the language of the page, and machine names only without other words',
  browserTest,
  async () => {
    const { page, context, open } = await sandbox.phone()
    const rows = async () => (await page.locator('section dd').allTextContents()).at(-1)
    await open(await sandbox.create({ workflow: 'loan' }))
    assert.equal(await rows(), 'Loan application · Submit')
    await open(await sandbox.create())
    assert.equal(await rows(), 'Ada Lovelace')
    await open(await sandbox.create({ context: undefined }))
    assert.equal(await rows(), 'credit application · submit application')
    await context.close()

    const german = await sandbox.phone({}, { locale: 'de-AT' })
    await german.open(await sandbox.create({ workflow: 'loan' }))
    assert.equal(
      await german.page.locator('section dd').last().textContent(),
      'Kreditantrag · Submit',
    )
    await german.context.close()
  },
)

for (const missing of ['globalThis.PublicKeyCredential', 'Navigator.prototype.credentials'])
  test(
    `a browser without ${missing} tells its user to open the link in another one`,
    browserTest,
    async () => {
      const { page, context, open } = await sandbox.phone()
      await open(await sandbox.create())
      await context.addInitScript(`delete ${missing}`)
      for (const address of [(await sandbox.create()).universal_link, `${sandbox.origin}/inbox`]) {
        await page.goto(address)
        await screen(page, 'problem')
        assert.equal(await heading(page), 'Open this link in Safari or Chrome')
        assert.equal(await page.locator('.link').textContent(), address)
        await press(page, 'Copy link')
        await page.getByRole('button', { name: '✓ Copy link' }).waitFor()
        assert.equal(await page.evaluate('getSelection().toString()'), address)
      }
      await context.close()
    },
  )

for (const [outcome, title, body] of [
  ['accepted', 'Your request is complete', 'Harbour Bank has completed it.'],
  ['in_review', 'Your request was received', 'Harbour Bank is reviewing it.'],
  [undefined, 'Your request is complete', 'Harbour Bank has completed it.'],
] as const)
  test(
    `repeats what the backend said at completion: ${outcome ?? 'nothing'}`,
    browserTest,
    async () => {
      const session = await sandbox.create()
      const { page, context, open } = await sandbox.phone()
      await open(session)
      await press(page, 'Approve')
      await screen(page, 'approved')
      await sandbox.complete(session, outcome)
      await screen(page, 'completed')
      assert.equal(await heading(page), title)
      assert.ok((await page.locator('main').innerText()).includes(body))
      assert.deepEqual(await page.getByRole('button').allTextContents(), ['Close', 'Your phones'])
      await page.reload()
      await screen(page, 'completed')
      assert.equal(await heading(page), title)
      await context.close()
    },
  )

const none = {
  rp_id: 'bond.example',
  attestation: 'none',
  formats: ['webauthn', 'android-key'],
  browser_key: 'none',
  names_user: false,
} satisfies Invitation['registration']
/** What sessions need of a new phone. */
const NEEDS = {
  none,
  required: { ...none, attestation: 'required' },
  known: { ...none, names_user: true },
  app: { ...none, formats: ['android-key'] },
} satisfies Record<string, Invitation['registration']>

test('a request that did not arrive in time reads as a lost connection', () => {
  const failure = new PhoneError('refused', { reason: 'request_timeout', status: 408 })
  assert.equal(problemOf(failure), 'offline')
})

test('a failure of the browser that no table has reads as unexpected, not as one of the storage', () => {
  // A push service that does not answer, for example.
  assert.equal(problemOf(new DOMException('', 'AbortError')), 'unexpected')
})

test('an invitation hides no characters, and its logo is a file of the service', () => {
  const origin = 'https://bond.example'
  const invitation = {
    state: 'pending',
    ended_reason: null,
    tenant_name: 'Bank\u202e',
    tenant_logo_url: '/v1/logos/a.svg',
    requesting_origin: 'https://bank.example',
    registration: NEEDS.none,
  } as const
  assert.deepEqual(shownInvitation(invitation, origin), {
    tenant_name: 'Bank\ufffd',
    logo: 'https://bond.example/v1/logos/a.svg',
    requesting_origin: 'https://bank.example',
  })
  for (const tenant_logo_url of [null, '//evil.example/a.svg', 'https://evil.example/a.svg', 'a'])
    assert.equal(shownInvitation({ ...invitation, tenant_logo_url }, origin).logo, null)
})

test('a phone creates a key only for a session that it can approve', () => {
  const { none, required, known, app } = NEEDS
  const pending = (registration: Invitation['registration']) => ({
    state: 'pending' as const,
    registration,
  })
  assert.equal(obstacleIn(pending(none), false), null)
  assert.equal(obstacleIn(pending(required), true), null)
  assert.equal(obstacleIn(pending(required), false), 'cannot_attest')
  assert.equal(obstacleIn(pending(app), true), 'app_only')
  // The passkey that its user has may be accepted.
  assert.equal(obstacleIn(pending({ ...required, names_user: true }), false), null)
  assert.equal(recoveryFor(pending(none)), 'offered')
  assert.equal(recoveryFor(pending(required)), 'none')
  assert.equal(recoveryFor(pending(known)), 'only')
  for (const [state, obstacle] of [
    ['bonded', 'claimed_by_other_phone'],
    ['step_up_required', 'claimed_by_other_phone'],
    ['completed', 'session_over'],
    ['killed', 'session_over'],
    ['expired', 'session_over'],
  ] as const)
    assert.equal(obstacleIn({ state, registration: none }, true), obstacle)
})

test('iPhones and iPads cannot attest, also where an iPad calls itself a Mac', () => {
  for (const [userAgent, maxTouchPoints, expected] of [
    ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X)', 5, false],
    ['Mozilla/5.0 (iPad; CPU OS 12_2 like Mac OS X)', 5, false],
    ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)', 5, false],
    ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)', 0, true],
    ['Mozilla/5.0 (Linux; Android 16; Pixel 9)', 5, true],
  ] as const)
    assert.equal(canAttest({ userAgent, maxTouchPoints }), expected, userAgent)
})
