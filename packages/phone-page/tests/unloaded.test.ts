import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserMissing } from '../../../tests/browser.ts'
import { portalPath } from '../../server/src/http/pages/webhook-portal.ts'
import { heading, press, screen } from './phone-browser.ts'
import { portalScene } from './portal-scene.ts'
import { Sandbox } from './sandbox.ts'

/* What a user reads in a document whose script does not arrive or cannot start. */

const browserTest = { skip: browserMissing, timeout: 600_000 }
let bank: Sandbox
before(async () => {
  if (!browserMissing) bank = await Sandbox.start()
})
after(async () => bank?.[Symbol.asyncDispose]())

const FAILURES = {
  'does not arrive': { abort: 'failed' },
  'is another one after a deployment': { status: 404, body: '' },
  'is not what was published': { status: 200, body: 'document.body.replaceChildren()' },
} as const

for (const path of ['/bond', '/inbox'])
  for (const [name, failure] of Object.entries(FAILURES))
    test(`${path}: a script that ${name} leaves a sentence and a link`, browserTest, async () => {
      const { page, context } = await bank.phone({}, { locale: 'de-DE' })
      await page.route('**/page-*.js', (route) =>
        'abort' in failure ? route.abort(failure.abort) : route.fulfill(failure),
      )
      const { universal_link } = await bank.create()
      const address = path === '/bond' ? universal_link : `${bank.origin}${path}`
      await page.goto(address)
      await page.getByRole('heading', { name: 'Diese Seite ist noch nicht geladen' }).waitFor()
      assert.equal(
        await page.locator('main').innerText(),
        'Diese Seite ist noch nicht geladen\n\n' +
          'Prüfen Sie die Verbindung und versuchen Sie es erneut.\n\nErneut versuchen',
      )
      await page.unroute('**/page-*.js')
      await page.getByRole('link', { name: 'Erneut versuchen' }).click()
      await page.locator('article[data-screen]:visible').waitFor()
      assert.equal(page.url(), address)
      assert.equal(await page.getByText('Diese Seite ist noch nicht geladen').count(), 0)
      await context.close()
    })

test(
  'the link to try again has its text in the middle, on a phone of any size',
  browserTest,
  async () => {
    for (const height of [560, 844]) {
      const look = { viewport: { width: 360, height }, colorScheme: 'dark' } as const
      const { page, context } = await bank.phone({}, { ...look, javaScriptEnabled: false })
      await page.goto(`${bank.origin}/bond`)
      await page.getByRole('link', { name: 'Try again' }).waitFor()
      const [above, below] = await page.evaluate<[number, number]>(`(() => {
        const link = document.querySelector('.unloaded .button')
        const text = document.createRange()
        text.selectNodeContents(link)
        const [inner, outer] = [text, link].map((part) => part.getBoundingClientRect())
        return [inner.top - outer.top, outer.bottom - inner.bottom]
      })()`)
      assert.ok(Math.abs(above - below) <= 1, `${height}: ${above} px above, ${below} px below`)
      await context.close()
    }
  },
)

test('a browser without JavaScript says what the page needs', browserTest, async () => {
  const { page, context } = await bank.phone({}, { javaScriptEnabled: false })
  await page.goto(`${bank.origin}/bond`)
  await page.getByRole('heading', { name: 'This page has not loaded yet' }).waitFor()
  assert.equal(
    await page.locator('main').innerText(),
    'This page has not loaded yet\n\nCheck your connection, then try again.\n\n' +
      'This page needs JavaScript. Turn it on for this site.\n\nTry again',
  )
  await context.close()
})

test('a portal whose script does not arrive says so', browserTest, async () => {
  await using s = await portalScene()
  const page = await (await s.browser.newContext()).newPage()
  await page.route(`**${portalPath('script')}/*`, (route) => route.abort())
  await page.goto(await s.link())
  await page.getByText('This page has not loaded yet. Check your connection').waitFor()
  await page.unroute(`**${portalPath('script')}/*`)
  await page.reload()
  await page.getByRole('button', { name: 'Refresh' }).waitFor()
  assert.equal(await page.getByText('This page has not loaded yet').count(), 0)
})

for (const [name, script] of [
  ['without a database', 'delete globalThis.indexedDB; delete Window.prototype.indexedDB'],
  ['whose database is null', `Object.defineProperty(globalThis, 'indexedDB', { value: null })`],
] as const)
  test(`a browser ${name} shows the link at once`, browserTest, async () => {
    const { page, context } = await bank.phone()
    await page.addInitScript(script)
    for (const address of [(await bank.create()).universal_link, `${bank.origin}/inbox`]) {
      await page.goto(address)
      await screen(page, 'problem')
      assert.equal(await heading(page), 'Open this link in Safari or Chrome')
      await page.getByText('This browser cannot store your setup.').waitFor()
      assert.equal(await page.locator('.link').innerText(), address)
      assert.deepEqual(await page.getByRole('button').allTextContents(), ['Copy link'])
      await press(page, 'Copy link')
    }
    await context.close()
  })
