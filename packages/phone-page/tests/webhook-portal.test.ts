import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { browserMissing } from '../../../tests/browser.ts'
import { PORTAL_TTL_MS } from '../../core/src/domain/webhooks.ts'
import {
  createEndpoint,
  listDeliveries,
  updateEndpoint,
} from '../../core/src/operations/admin/webhooks.ts'
import { accepts } from '../../server/tests/webhook-receiver.ts'
import { HOSTILE, portalScene } from './portal-scene.ts'

const browserTest = { skip: browserMissing, timeout: 600_000 }
const rows = (page: Page) => page.locator('.deliveries > li > details')
const status = (page: Page, text: RegExp) =>
  page.locator('.status').filter({ hasText: text }).waitFor()

test(
  'shows deliveries with payload and attempts as text, filters, retries, and recovers',
  browserTest,
  async () => {
    await using s = await portalScene()
    const { h, receiver } = s
    await s.send()
    const failed = await s.send((response) => response.writeHead(500).end(`token=abc ${HOSTILE}`))
    receiver.behavior.now = accepts
    const page = await s.open(await s.link(), { timezoneId: 'Asia/Kolkata' })
    await rows(page).nth(1).waitFor()
    assert.equal(await rows(page).count(), 2)
    assert.match(
      await page.locator('.about').innerText(),
      /^Shop|^\w+.* · Times are in your time zone, Asia\/Kolkata\.$/,
    )
    // Every button says what it does.
    for (const button of await page.getByRole('button').all()) {
      const id = await button.getAttribute('aria-describedby')
      assert.match(await page.locator(`#${id}`).innerText(), /^[A-Z].{10,}\.$/)
    }
    assert.equal(page.url().includes('#'), false, 'the address keeps no token')
    assert.doesNotMatch(await page.content(), /hunter2|wpt_|whsec_/)

    await page.getByLabel('State').selectOption('pending')
    // The list is empty for a moment.
    await rows(page).nth(1).waitFor({ state: 'detached' })
    await rows(page).first().waitFor()
    assert.equal(await rows(page).count(), 1)
    assert.equal(await rows(page).first().locator('.state').innerText(), 'Retrying')
    await rows(page).first().locator('summary').click()
    const content = rows(page).first()
    await content.getByText('Status 500').waitFor()
    assert.match(await content.locator('pre').first().innerText(), new RegExp(failed))
    assert.ok((await content.locator('pre').nth(1).innerText()).includes(HOSTILE))
    assert.match(await content.locator('pre').nth(1).innerText(), /token=\[redacted\]/)
    assert.equal(await page.evaluate('globalThis.pwned'), undefined)

    await content.getByRole('button', { name: 'Send again' }).click()
    await status(page, /being sent again/)
    await s.h.create()
    const before = receiver.received.length
    while (receiver.received.length < before + 2) {
      h.clock.advance(500)
      await page.evaluate('0')
    }
    assert.ok(receiver.ids().filter((id) => id === failed).length === 2)

    await s.hold()
    await page.getByLabel(/^Time to recover/).selectOption({ label: 'the last day' })
    await page.getByRole('button', { name: /^Send again what failed/ }).click()
    await status(page, /Sending 1 again/)
    await page.context().close()
  },
)

test('loads again after a first load that fails, and names a redirect', browserTest, async () => {
  await using s = await portalScene()
  await s.send((response) => response.writeHead(307, { location: 'https://b.example/' }).end())
  const page = await (await s.browser.newContext()).newPage()
  const html = { contentType: 'text/html', body: '<h1>Sign in to the network</h1>' }
  await page.route('**/webhook-endpoints', (route) => route.fulfill(html), { times: 1 })
  await page.goto(await s.link())
  await status(page, /^No connection\. Try again\.$/)
  await page.getByRole('button', { name: 'Refresh' }).click()
  await rows(page).first().locator('summary').click()
  await page.getByText('Status 307: redirects are not followed').waitFor()
})

test(
  'leaves out what its filters, its rows, and its times do not name, and loads the rest',
  browserTest,
  async () => {
    await using s = await portalScene()
    const { h } = s
    const tenantId = h.shop.tenant.id
    const given = { tenantId, url: 'https://b.example/', events: null, scheme: 'v1' } as const
    const { endpoint: second } = await createEndpoint(h.service, given)
    // What they get is held, so that nothing is sent.
    for (const { id } of [s.endpoint, second])
      await updateEndpoint(h.service, id, { enabled: false })
    await h.create()
    h.clock.set(25 * 60 * 60_000)
    for (let count = 0; count < 60; count++) await h.create()
    await h.kill(await h.create())
    const pending = async () => {
      const query = { tenantId, state: 'pending', limit: 200 } as const
      return (await listDeliveries(h.service, query)).deliveries
    }
    const page = await s.open(await s.link())
    const shows = async (count: number) => {
      await rows(page)
        .nth(count - 1)
        .waitFor()
      assert.equal(await rows(page).count(), count)
    }
    const more = page.getByRole('button', { name: 'Load more' })
    // Of 62 sessions the creation, and of one the end, for two endpoints.
    for (const count of [50, 100]) {
      await shows(count)
      await more.click()
    }
    await shows(126)
    assert.equal(await more.isVisible(), false)
    await page.locator('.filter select').nth(1).selectOption('session.killed')
    await rows(page).nth(2).waitFor({ state: 'detached' })
    await shows(2)
    await page.locator('.filter select').nth(2).selectOption(second.id)
    await rows(page).nth(1).waitFor({ state: 'detached' })
    await shows(1)

    await rows(page).first().locator('summary').click()
    await page.getByRole('button', { name: 'Send again', exact: true }).click()
    await status(page, /being sent again/)
    const [again, ...others] = await pending()
    assert.deepEqual([again?.type, again?.endpointId, others], ['session.killed', second.id, []])
    const recovery = page.locator('.endpoints > li', { hasText: 'b.example' })
    await recovery.getByRole('combobox').selectOption({ label: 'the last day' })
    await recovery.getByRole('button').click()
    await status(page, /Sending 61 again/)
    assert.ok((await pending()).every(({ endpointId }) => endpointId === second.id))
    await page.context().close()
  },
)

test(
  'a link ends with its ten minutes and with its credential, and shows nothing afterwards',
  browserTest,
  async () => {
    await using s = await portalScene()
    const { h } = s
    await s.send()
    const page = await s.open(await s.link())
    await rows(page).first().waitFor()
    h.clock.advance(PORTAL_TTL_MS)
    await page.getByRole('button', { name: 'Refresh' }).click()
    await status(page, /link has expired/)
    assert.equal(await rows(page).count(), 0)
    // The page around the frame renews the link without loading the document.
    const renewed = await s.link()
    await page.evaluate(`location.hash = ${JSON.stringify(new URL(renewed).hash)}`)
    await rows(page).first().waitFor()
    const keyId = /^sk_beta_(.{10})/.exec(h.shop.server)?.[1] ?? ''
    await h.service.store.write((tables) => tables.tenants.revoke(keyId, h.clock.now()))
    await page.getByRole('button', { name: 'Refresh' }).click()
    await status(page, /link has expired/)
    for (const url of [`${page.url()}#wpt_${'A'.repeat(43)}`, page.url()]) {
      const other = await s.open(url)
      await status(other, /link has expired/)
    }
  },
)

test('only the pages of the tenant can frame its portal', browserTest, async () => {
  const site = createServer((request, response) => {
    const frame = new URL(request.url ?? '', 'http://localhost').searchParams.get('frame')
    response.setHeader('content-type', 'text/html').end(`<iframe src="${frame}"></iframe>`)
  }).listen(0, '127.0.0.1')
  await once(site, 'listening')
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  await using s = await portalScene()
  const framing = await s.h.addTenant({ name: 'Framing', origins: [origin] })
  for (const [keys, isShown] of [
    [framing, true],
    [s.h.shop, false],
  ] as const) {
    const url = `${origin}/?frame=${encodeURIComponent(await s.link(keys))}`
    const page = await s.open(url)
    const shown = page.frames()[1]
    const heading = shown?.getByRole('heading', { name: 'Webhook deliveries' })
    if (isShown) await heading?.waitFor()
    else assert.equal(shown?.url(), 'chrome-error://chromewebdata/', 'the browser blocked it')
  }
  site.closeAllConnections()
  site.close()
})

test('axe finds nothing, in light and dark, wide and narrow', browserTest, async () => {
  await using s = await portalScene()
  await s.send()
  await s.send((response) => response.writeHead(500).end('broken'))
  await s.hold()
  const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [1_360, 320, 195]) {
      const viewport = { width, height: 800 }
      const page = await s.open(await s.link(), { colorScheme, viewport, bypassCSP: true })
      await rows(page).nth(1).locator('summary').click()
      await page.getByRole('button', { name: 'Send again', exact: true }).waitFor()
      await page.evaluate(axe)
      const { violations } = await page.evaluate<{ violations: { id: string }[] }>('axe.run()')
      assert.deepEqual(
        violations.map(({ id, ...each }) => [id, JSON.stringify(each).slice(0, 400)]),
        [],
      )
      const overflow = await page.evaluate<number>('document.documentElement.scrollWidth')
      assert.ok(overflow <= width, `${overflow} px at ${width} px`)
      const covered =
        await page.evaluate(`[...document.querySelectorAll('summary')].flatMap((summary) => {
        const parts = [...summary.children].map((part) => [part, part.getBoundingClientRect()])
        return parts.flatMap(([part, one], index) => parts.slice(index + 1)
          .filter(([, other]) => one.left < other.right && one.right > other.left && one.top < other.bottom - 1 && one.bottom > other.top + 1)
          .map(([other]) => part.textContent + ' and ' + other.textContent))
      })`)
      assert.deepEqual(covered, [], `at ${width} px`)
      await page.context().close()
    }
})
