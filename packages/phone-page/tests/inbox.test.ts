import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Workflow } from '@bonded/contract'
import type { Page } from 'playwright-core'
import { browserMissing } from '../../../tests/browser.ts'
import { press, readAll, recordPrompts, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

/** Set it to a folder to keep pictures. */
const PICTURES = process.env.SCREENSHOTS_DIR
const browserTest = { skip: browserMissing, timeout: 600_000 }
const REQUESTER = { kind: 'agent', name: 'Invoice agent', detail: 'Pays invoices up to €20,000' }

const WORKFLOWS: readonly Partial<Workflow>[] = [
  {},
  {
    name: 'agent',
    actions: ['pay'],
    delivery: 'inbox',
    session_ttl_seconds: 86_400,
    title: { en: 'Payments' },
  },
]

/** A user who has approved on a page once, and a phone at its inbox. */
async function openScene(look?: Parameters<Sandbox['phone']>[1]) {
  const sandbox = await Sandbox.start({ workflows: WORKFLOWS })
  const phone = await sandbox.phone({}, look)
  /** Bonds the phone on a page of a tenant. @returns a function that creates requests */
  const meet = async (by = sandbox.serverCredential) => {
    const first = await sandbox.create({}, by)
    await phone.open(first)
    await phone.page.locator('.actions > .button').click()
    await screen(phone.page, 'approved')
    const { subject_ref } = await sandbox.stateOf(first, undefined, by)
    // A request of the millisecond in which the key was made is not younger than the key.
    sandbox.advance(1)
    return (context: object = {}) => {
      const display = [{ label: 'Pay an invoice', value: '€12,500.00' }]
      const given = { requester: REQUESTER, display, ...context }
      return sandbox.create({ workflow: 'agent', action: 'pay', subject_ref, context: given }, by)
    }
  }
  const ask = await meet()
  const visit = async () => {
    await phone.page.goto(`${sandbox.origin}/inbox`)
    await screen(phone.page, 'inbox', 'no_inbox', 'problem')
  }
  return {
    sandbox,
    phone,
    page: phone.page,
    meet,
    ask,
    visit,
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  }
}

const items = (page: Page) => page.locator('.item')
async function openList(page: Page): Promise<void> {
  await press(page, 'Open')
  await screen(page, 'list')
}

async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return
  mkdirSync(PICTURES, { recursive: true })
  await page.screenshot({ path: join(PICTURES, `inbox-${name}.png`) })
}

test('approves one request and declines another, each with one prompt', browserTest, async () => {
  await using scene = await openScene()
  const { sandbox, page, ask, visit } = scene
  const prompts = await recordPrompts(page)
  await visit()
  await page.getByRole('heading', { name: 'Inbox' }).waitFor()
  await page.getByText('New requests appear here by themselves.').waitFor()
  assert.equal(await page.locator('.button:not(.plain)').count(), 0)
  const paid = await ask()
  const refused = await ask()
  await page.getByRole('heading', { name: 'Requests waiting: 2' }).waitFor()
  await picture(page, 'waiting')
  await openList(page)
  assert.deepEqual(prompts, ['get'])
  await picture(page, 'list')
  assert.deepEqual(await page.locator('.item').first().locator('bdi').allTextContents(), [
    'Harbour Bank',
    'Payments',
    'Invoice agent',
  ])
  // The newest request is the first.
  await items(page).first().click()
  await screen(page, 'request')
  await picture(page, 'request')
  assert.doesNotMatch(await page.locator('article').innerText(), /Page|Not known/)
  assert.match(await page.getByRole('timer').innerText(), /^24 hours left$/)
  await press(page, 'Back')
  assert.equal(await items(page).count(), 2)

  await items(page).first().click()
  await press(page, 'Decline')
  await press(page, 'Decline')
  await page.getByRole('heading', { name: 'Declined' }).waitFor()
  await press(page, 'Back')
  assert.equal(await items(page).count(), 1)
  assert.equal((await sandbox.stateOf(refused)).state, 'killed')

  await items(page).first().click()
  await press(page, 'Approve')
  await screen(page, 'approved')
  await picture(page, 'approved')
  assert.equal((await sandbox.stateOf(paid)).state, 'bonded')
  assert.deepEqual(prompts, ['get', 'get'])
  await press(page, 'Back')
  assert.equal(await items(page).count(), 0)
  await page.getByText('New requests appear here by themselves.').waitFor()
})

test(
  'requests that look alike are numbered, also when one of them is open',
  browserTest,
  async () => {
    await using scene = await openScene()
    const { sandbox, page, ask, visit } = scene
    await ask()
    await ask({ requester: { ...REQUESTER, name: 'Travel agent' } })
    sandbox.advance(20_000)
    await ask()
    await visit()
    await openList(page)
    const places = async () =>
      (await items(page).locator('.note').allTextContents()).map((text) => text.split(' · ')[0])
    // The newest one is the first in the list. A request that looks like no other has no number.
    assert.deepEqual(await places(), ['2/2', 'this minute', '1/2'])
    await items(page).first().click()
    await screen(page, 'request')
    await page.getByText('2 of 2 like this, sent within 1 minute').waitFor()
    await picture(page, 'alike')
    await press(page, 'Decline')
    await press(page, 'Decline')
    await press(page, 'Back')
    // The user has read the list with both of them, so the other one has its number still.
    assert.deepEqual(await places(), ['this minute', '1/2'])
    await items(page).nth(1).click()
    await page.getByText('1 of 2 like this, sent within 1 minute').waitFor()
    await press(page, 'Back')
    await items(page).first().click()
    await screen(page, 'request')
    assert.equal(await page.getByText('like this').count(), 0)
  },
)

test(
  'a report ends the other requests and pauses the tenant, until the user lifts it',
  browserTest,
  async () => {
    await using scene = await openScene()
    const { page, ask, visit } = scene
    await ask()
    await ask()
    await visit()
    await openList(page)
    await items(page).first().click()
    await press(page, 'This wasn’t me')
    await page.getByText('cannot ask you again for now').waitFor()
    await press(page, 'Back')
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
    await assert.rejects(ask(), /inbox_paused/)
    await openList(page)
    await page.getByText('You reported a request from Harbour Bank.').waitFor()
    await picture(page, 'paused')
    await press(page, 'Allow requests again')
    await page.getByText('You reported').waitFor({ state: 'detached' })
    await screen(page, 'list')
    // Two requests in a row ended without an approval, so the next one waits.
    scene.sandbox.advance(6 * 60_000)
    await ask()
    await press(page, 'Show new requests')
    await items(page).waitFor()
  },
)

test('a new number moves neither the focus nor the list', browserTest, async () => {
  await using scene = await openScene()
  const { page, ask, visit } = scene
  const focused = () => page.evaluate<string>('document.activeElement.className')
  await ask()
  await visit()
  await page.getByRole('button', { name: 'Open' }).focus()
  await ask()
  await page.getByRole('heading', { name: 'Requests waiting: 2' }).waitFor()
  assert.equal(await focused(), 'button')
  await openList(page)
  await items(page).nth(1).focus()
  await ask()
  await page.getByRole('button', { name: 'Show new requests' }).waitFor()
  assert.equal(await focused(), 'item')
  assert.equal(await items(page).count(), 2)
})

test(
  'a request that has ended leaves the list, and an expired nonce is renewed with one prompt',
  browserTest,
  async () => {
    await using scene = await openScene()
    const { sandbox, page, ask, visit } = scene
    await ask()
    const canceled = await ask()
    await visit()
    await openList(page)
    await sandbox.kill(canceled)
    await items(page).first().click()
    await page.getByText('This request has ended').waitFor()
    assert.equal(await items(page).count(), 1)
    sandbox.advance(10 * 60_000)
    await items(page).click()
    await screen(page, 'request')
  },
)

test(
  'a text of 200 lines is approved once its end was in view, on a small phone',
  browserTest,
  async () => {
    await using scene = await openScene({ viewport: { width: 360, height: 560 } })
    const { sandbox, page, ask, visit } = scene
    const text = Array.from({ length: 200 }, (_, line) => `"line ${line}": 1`).join('\n')
    const session = await ask({ text })
    await visit()
    await openList(page)
    await items(page).click()
    await screen(page, 'request')
    const approve = page.locator('.actions > .button')
    assert.equal(await approve.getAttribute('aria-disabled'), 'true')
    await picture(page, 'text')
    await readAll(page)
    // It waits until the button is live.
    await press(page, 'Approve')
    await screen(page, 'approved')
    assert.equal((await sandbox.stateOf(session)).state, 'bonded')
  },
)

test(
  'an outage ends by itself, and a phone without its storage recovers',
  browserTest,
  async () => {
    await using scene = await openScene({ locale: 'ar' })
    const { page, phone, ask, visit } = scene
    await ask()
    await page.route('**/api/v1/inbox', (route) => route.abort())
    await visit()
    await screen(page, 'problem')
    await page.unroute('**/api/v1/inbox')
    await page.evaluate(`dispatchEvent(new Event('online'))`)
    await screen(page, 'inbox')
    await page.getByRole('heading', { name: /^الطلبات المنتظرة: [1١]$/ }).waitFor()
    assert.equal(await page.evaluate('document.documentElement.dir'), 'rtl')

    await phone.clearStorage()
    await visit()
    await screen(page, 'no_inbox')
    await page.route('**/devices/recovery', (route) => route.abort())
    await page.locator('.actions > .button').click()
    // The passkey is not at fault.
    await screen(page, 'problem')
    await page.unroute('**/devices/recovery')
    await page.evaluate(`dispatchEvent(new Event('online'))`)
    await screen(page, 'no_inbox')
    assert.equal(await page.locator('.notice').count(), 0)
    await page.locator('.actions > .button').click()
    await screen(page, 'inbox')
    // Each page leads to the other.
    await page.locator('.actions > .plain').last().click()
    await screen(page, 'keys')
    await page.locator('.actions > .plain').click()
    await screen(page, 'inbox')
  },
)

test('a request opens although its list was read seven hours before', browserTest, async () => {
  await using scene = await openScene()
  const { sandbox, page, ask, visit } = scene
  await ask()
  await visit()
  await openList(page)
  // The service no longer knows that the nonce of the list was one.
  sandbox.advance(7 * 60 * 60_000)
  await items(page).click()
  await screen(page, 'request')
})

test(
  'lists more than 20 requests, and goes on where the user was, on a small phone',
  browserTest,
  async () => {
    await using scene = await openScene({ viewport: { width: 375, height: 553 } })
    const { sandbox, page, ask, meet, visit } = scene
    const asking = [ask]
    const names = ['Northern Bank', 'Sunrise Insurance', 'Blue Travel', 'City Energy', 'Green Rail']
    for (const name of names) asking.push(await meet(await sandbox.addTenant(name, WORKFLOWS)))
    // No tenant has more than five, so no list of one tenant is that long.
    for (const each of asking) for (let count = 0; count < 4; count++) await each()
    const prompts = await recordPrompts(page)
    await visit()
    await page.getByRole('heading', { name: 'Requests waiting: 24' }).waitFor()
    await openList(page)
    assert.equal(await items(page).count(), 20)
    assert.equal(await page.evaluate('scrollY'), 0)
    const more = page.getByRole('button', { name: 'Show more' })
    await more.click()
    await items(page).nth(23).waitFor()
    assert.deepEqual(prompts, ['get', 'get'])
    assert.equal(await more.count(), 0)
    await picture(page, 'list-long')
    /** The position of the focused request, if the user sees it. */
    const place = () =>
      page.evaluate<number>(`(() => {
        const { top, bottom } = document.activeElement.getBoundingClientRect()
        if (top < 0 || bottom > innerHeight) return 'out of view'
        return [...document.querySelectorAll('.item')].indexOf(document.activeElement)
      })()`)
    assert.equal(await place(), 20)
    await items(page).nth(22).click()
    await press(page, 'Back')
    assert.equal(await place(), 22)
    await items(page).nth(23).click()
    await press(page, 'Approve')
    await screen(page, 'approved')
    await press(page, 'Back')
    assert.equal(await items(page).count(), 23)
  },
)

test(
  'a prompt that the user closes changes nothing, and from the second one on the page says why',
  browserTest,
  async () => {
    await using scene = await openScene({ viewport: { width: 390, height: 553 } })
    const { sandbox, phone, page, ask, visit } = scene
    const session = await ask()
    const prompts = await recordPrompts(page)
    await visit()
    await phone.setUserVerified(false)
    for (const count of [1, 2]) {
      await press(page, 'Open')
      while (prompts.length < count) await page.evaluate('0')
      // The passkey may be deleted, which browsers do not tell from a closed prompt.
      if (count === 2) await press(page, 'Try again')
      await screen(page, 'inbox')
      await page.getByRole('heading', { name: 'Requests waiting: 1' }).waitFor()
    }
    await phone.setUserVerified(true)
    await openList(page)
    await items(page).click()
    await phone.setUserVerified(false)
    await press(page, 'Approve')
    await page.getByRole('alert').waitFor()
    assert.equal((await sandbox.stateOf(session)).state, 'pending')
    await phone.setUserVerified(true)
    await press(page, 'Approve')
    await screen(page, 'approved')
    assert.equal((await sandbox.stateOf(session)).state, 'bonded')
  },
)
