import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browserMissing } from '../../../tests/browser.ts'
import { press, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

const browserTest = { skip: browserMissing, timeout: 600_000 }
const IPHONE = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1'

/** A phone that was set up, and opens its inbox. */
async function openScene(look?: Parameters<Sandbox['phone']>[1]) {
  const sandbox = await Sandbox.start()
  const { page, open } = await sandbox.phone({}, look)
  await open(await sandbox.create())
  const openList = async () => {
    await page.goto(`${sandbox.origin}/inbox`)
    await screen(page, 'inbox')
    await press(page, 'Open')
    await screen(page, 'list')
  }
  return {
    sandbox,
    page,
    openList,
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  }
}

test(
  'a user turns notifications on and off, under the policy of the page',
  browserTest,
  async () => {
    await using scene = await openScene()
    const { sandbox, page, openList } = scene
    const { origin } = sandbox
    await page.context().grantPermissions(['notifications'], { origin })
    // No push service is reached. The rest is the browser's own, under the policy of the page.
    await page.addInitScript(`PushManager.prototype.subscribe = async ({ applicationServerKey }) => {
    sessionStorage.keyOfPush = applicationServerKey
    return { endpoint: 'https://fcm.googleapis.com/fcm/send/test' }
  }`)
    await openList()
    await press(page, 'Turn on notifications')
    await page.getByRole('button', { name: 'Turn off notifications' }).waitFor()
    assert.match(await page.evaluate('sessionStorage.keyOfPush'), /^B[\w-]{86}$/)
    const registered = await page.evaluate(
      `navigator.serviceWorker.getRegistrations()
      .then((found) => found.map(({ scope, active }) => [scope, active?.scriptURL]))`,
    )
    assert.deepEqual(registered, [[`${origin}/inbox`, `${origin}/inbox/worker.js`]])
    // The policy of the page permits no other service worker.
    const refused = await page.evaluate(
      `navigator.serviceWorker.register('/bond').then(() => 'registered', ({ name }) => name)`,
    )
    assert.equal(refused, 'TypeError')

    await openList()
    await press(page, 'Turn off notifications')
    await page.getByRole('button', { name: 'Turn on notifications' }).waitFor()
    const left = await page.evaluate(
      'navigator.serviceWorker.getRegistrations().then(({ length }) => length)',
    )
    assert.equal(left, 0)
  },
)

test(
  'offers no notifications where the browser has none or on an iPhone, and says if it blocks them',
  browserTest,
  async () => {
    await using scene = await openScene({ userAgent: IPHONE })
    const { page, openList } = scene
    const offers = page.getByRole('button', { name: /notifications/ })
    await openList()
    assert.equal(await offers.count(), 0)
    await page.addInitScript(`Object.defineProperty(navigator, 'userAgent', { value: 'Android' })`)
    await openList()
    assert.equal(await offers.count(), 1)
    // A headless browser permits none until a test grants it.
    await offers.click()
    await page.getByText('This browser blocks notifications.').waitFor()
    assert.equal(await offers.count(), 1)
    await page.addInitScript('delete globalThis.PushManager')
    await openList()
    assert.equal(await offers.count(), 0)
  },
)
