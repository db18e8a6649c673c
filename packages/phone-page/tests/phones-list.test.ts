import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserMissing } from '../../../tests/browser.ts'
import { heading, press, recordPrompts, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

const browserTest = { skip: browserMissing, timeout: 600_000 }
const DAY_MS = 24 * 60 * 60_000
let bank: Sandbox
before(async () => {
  if (!browserMissing) bank = await Sandbox.start()
})
after(async () => bank?.[Symbol.asyncDispose]())

/** A phone that has declined a request, whose user has another phone. */
async function userWithTwoPhones() {
  await bank.removeDevices()
  const phone = await bank.phone()
  await phone.open(await bank.create())
  const [own] = await bank.devices()
  const other = await bank.addPhone()
  await press(phone.page, 'Decline')
  await screen(phone.page, 'ended')
  return { ...phone, own: own?.id, other, prompts: await recordPrompts(phone.page) }
}

type Owner = Awaited<ReturnType<typeof userWithTwoPhones>>
const phonesOf = ({ page }: Pick<Owner, 'page'>) => page.getByRole('group')
const remove = async ({ page }: Owner, name: RegExp, action: string) =>
  page.getByRole('group', { name }).getByRole('button', { name: action }).click()
const ids = async () => (await bank.devices()).map(({ id }) => id)

test('removes a browser key, and then its phone, of the same user', browserTest, async () => {
  const user = await userWithTwoPhones()
  const { page, own, other } = user
  await press(page, 'Your phones')
  await screen(page, 'keys')
  assert.equal(await phonesOf(user).count(), 2)
  for (const text of ['This phone', 'Another phone · iPhone', 'Passkey for the browser'])
    assert.ok((await page.locator('main').innerText()).includes(text), text)

  await remove(user, /iPhone/, 'Remove passkey')
  assert.equal(await heading(page), 'Remove passkey')
  assert.ok((await page.locator('main').innerText()).includes('iPhone'))
  await press(page, 'Remove passkey')
  await screen(page, 'keys')
  const keyOf = async (id: string | undefined) =>
    (await bank.devices()).find((device) => device.id === id)?.browserKey
  assert.equal(await keyOf(other), undefined)
  assert.ok(await keyOf(own))
  assert.equal(await page.getByRole('button', { name: 'Remove passkey' }).count(), 1)

  await remove(user, /iPhone/, 'Remove phone')
  await press(page, 'Remove phone')
  await screen(page, 'keys')
  assert.equal(await phonesOf(user).count(), 1)
  assert.deepEqual(await ids(), [own])
  await user.context.close()
})

test(
  'lists the phones that go with a removed one before the user confirms',
  browserTest,
  async () => {
    const user = await userWithTwoPhones()
    const { page, own, other } = user
    const planted = await bank.addPhone(other)
    await press(page, 'Your phones')
    await screen(page, 'keys')
    await page
      .getByRole('group', { name: /iPhone/ })
      .first()
      .getByRole('button', { name: 'Remove phone' })
      .click()
    const text = await page.locator('main').innerText()
    assert.ok(text.includes('This phone added the following phones. They are removed too:'), text)
    assert.equal(text.match(/Another phone · iPhone/g)?.length, 2)
    await press(page, 'Remove phone')
    await screen(page, 'keys')
    assert.deepEqual(await ids(), [own])
    assert.ok(planted !== other)
    await user.context.close()
  },
)

test('a page without a request lists the phones, and removes this one', browserTest, async () => {
  const user = await userWithTwoPhones()
  const { page, other, prompts } = user
  await page.goto(`${bank.origin}/bond`)
  await screen(page, 'keys')
  await remove(user, /This phone/, 'Remove phone')
  await press(page, 'Remove phone')
  await screen(page, 'ended')
  assert.equal(await heading(page), 'This phone was removed')
  assert.deepEqual([await ids(), prompts], [[other], ['get']])
  assert.deepEqual(await page.locator('article button').allTextContents(), ['Close'])
  await page.goto((await bank.create()).universal_link)
  await screen(page, 'setup')
  await user.context.close()
})

test('removes nothing without the user’s confirmation', browserTest, async () => {
  const user = await userWithTwoPhones()
  const { page } = user
  const before = await ids()
  await press(page, 'Your phones')
  await remove(user, /iPhone/, 'Remove phone')
  await press(page, 'Back')
  await screen(page, 'keys')
  await remove(user, /iPhone/, 'Remove phone')
  await user.setUserVerified(false)
  await press(page, 'Remove phone')
  await page.getByRole('alert').filter({ hasText: 'did not confirm it was you' }).waitFor()
  assert.deepEqual(await ids(), before)
  await user.context.close()
})

test('explains the prompt that renews an expired token before the list', browserTest, async () => {
  const user = await userWithTwoPhones()
  const { page } = user
  bank.advance(200 * DAY_MS)
  await page.goto(`${bank.origin}/bond`)
  await screen(page, 'renew')
  await press(page, 'Continue')
  await screen(page, 'keys')
  await user.context.close()
})

test('a new phone without a request registers no key', browserTest, async () => {
  await bank.removeDevices()
  const { page, context } = await bank.phone()
  for (const path of ['/bond', '/bond?session_id=sess_1']) {
    await page.goto(`${bank.origin}${path}`)
    await screen(page, 'problem')
    assert.equal(await heading(page), 'This link is not complete')
  }
  assert.deepEqual(await ids(), [])
  await context.close()
})
