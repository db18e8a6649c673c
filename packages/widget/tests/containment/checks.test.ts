import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { browserTest, Harness, init, noBrowser, outcome, require } from '../harness.ts'
import { openWaiting, seen, verdict } from './scene.ts'

let h: Harness
let path: string
let source: string
/** A page of another origin. */
let parentPage = ''
const parent = createServer((_, response) =>
  response.setHeader('content-type', 'text/html').end(parentPage),
)
before(async () => {
  if (noBrowser) return
  await new Promise<void>((resolve) => parent.listen(0, '127.0.0.1', resolve))
  h = await Harness.start()
  ;[path, source] = [...h.worker.files].find(([name]) => name.startsWith('/v1/checks/'))!
})
after(async () => {
  parent.close()
  await h?.[Symbol.asyncDispose]()
})

test(
  'draws no QR code when the checks of the container are missing or differ from those of its build',
  browserTest,
  async () => {
    for (const content of [undefined, source.replace('"breached"', '"ok"')]) {
      if (content === undefined) h.worker.files.delete(path)
      else h.worker.files.set(path, content)
      const page = await h.open()
      await init(page)
      await require(page)
      assert.deepEqual(await outcome(page), {
        state: 'unavailable',
        sessionId: null,
        reason: 'network',
      })
      assert.equal(h.sessions.length, 0)
      // A later request loads them again.
      h.worker.files.set(path, source)
      await require(page)
      await page.locator('.qr').waitFor()
    }
  },
)

test('loads the checks once, before the page requests a bond', browserTest, async () => {
  const page = await h.open()
  const requests: string[] = []
  page.on('request', (request) => requests.push(new URL(request.url()).pathname))
  const loaded = page.waitForResponse((response) => response.url().endsWith(path))
  await init(page)
  await loaded
  await require(page)
  await page.locator('.qr').waitFor()
  assert.equal(requests.filter((name) => name === path).length, 1)
})

/** Frames the page of the widget in a page of another origin. */
const FRAMED = {
  'a parent that covers it': `<iframe src="URL" style="width:400px;height:400px"></iframe><div style="position:fixed;inset:0;background:#fff;pointer-events:none"></div>`,
  'a parent that makes it transparent': `<iframe src="URL" style="width:400px;height:400px;opacity:.1"></iframe>`,
  'a parent that mirrors it': `<iframe src="URL" style="width:400px;height:400px;transform:scaleX(-1)"></iframe>`,
}
for (const [name, html] of Object.entries(FRAMED))
  test(`reports unverified in a frame of ${name}`, browserTest, async () => {
    const page = await h.open()
    parentPage = html.replace('URL', h.siteUrl)
    const { port } = parent.address() as AddressInfo
    await page.goto(`http://127.0.0.1:${port}/`)
    const frame = page.frames().find((each) => each.url() === h.siteUrl)!
    await frame.evaluate(
      `window.seen = []; addEventListener('pulse:containment', ({ detail }) => seen.push(detail))`,
    )
    await init(frame)
    await require(frame)
    await frame.waitForFunction(`String(seen.at(-1)?.breaches) === 'covered'`)
    assert.equal((await seen(frame)).at(-1)?.verdict, 'unverified')
  })

test('reports unverified in a browser without Intersection Observer v2', browserTest, async () => {
  const page = await h.open()
  await page.evaluate(
    `delete IntersectionObserverEntry.prototype.isVisible;
     window.seen = []; addEventListener('pulse:containment', ({ detail }) => seen.push(detail))`,
  )
  await init(page)
  await require(page)
  assert.deepEqual(await verdict(page, 'unverified'), {
    verdict: 'unverified',
    breaches: ['covered'],
  })
})

/** An overlay of the whole window that lets clicks through. */
const CLICK_THROUGH = `
  const cover = document.createElement('div')
  cover.style.cssText = 'position:fixed;inset:0;background:#fff;pointer-events:none'
  document.body.append(cover)`

test(
  'finds an overlay that lets clicks through without a report of the browser',
  browserTest,
  async () => {
    const page = await h.open()
    await page.evaluate(
      `IntersectionObserver.prototype.observe = () => {}
       window.seen = []; addEventListener('pulse:containment', ({ detail }) => seen.push(detail))`,
    )
    await init(page)
    await require(page)
    await page.locator('.qr').waitFor()
    await verdict(page, 'unverified')
    await page.evaluate(`{ ${CLICK_THROUGH} }`)
    assert.deepEqual((await verdict(page, 'breached')).breaches, ['covered'])
  },
)

test(
  'shows no QR code, not for one frame, below an overlay that lets clicks through',
  browserTest,
  async () => {
    const page = await h.open()
    // The overlay arrives with the session, so that no earlier check has seen it.
    await page.evaluate(`
    window.shown = 0
    window.seen = []; addEventListener('pulse:containment', ({ detail }) => seen.push(detail))
    const root = () => document.querySelector('[data-pulse-widget]').shadowRoot
    const look = () => {
      const modules = root()?.querySelector('.qr path:last-child')
      if (modules && getComputedStyle(modules).visibility === 'visible') shown += 1
      requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
    const { fetch } = window
    window.fetch = async (...request) => {
      const answer = await fetch(...request)
      if (new URL(request[0], location).pathname === '/bond-session') { ${CLICK_THROUGH} }
      return answer
    }`)
    await init(page)
    await require(page)
    await verdict(page, 'breached')
    await page.locator('.qr').waitFor({ state: 'attached' })
    assert.equal(await page.evaluate('shown'), 0)
  },
)

test(
  'reports a changed verdict once, and nothing while every rule is met',
  browserTest,
  async () => {
    h.worker.reports.length = 0
    const page = await openWaiting(h, {})
    await verdict(page, 'ok')
    assert.deepEqual(h.worker.reports, [])
    await page.evaluate(
      'widget.style.maskImage = "linear-gradient(#000, #0008)"; widget.style.overflow = "hidden"',
    )
    await verdict(page, 'unverified')
    await page.clock.runFor(3_000)
    await page.evaluate('widget.style.maskImage = "none"')
    await verdict(page, 'ok')
    await page.waitForFunction('seen.length === 3')
    for (let waits = 0; waits < 100 && h.worker.reports.length < 2; waits += 1)
      await page.evaluate('new Promise(requestAnimationFrame)')
    assert.deepEqual(
      h.worker.reports.map(({ body }) => body),
      [
        { verdict: 'unverified', breaches: ['masked'] },
        { verdict: 'ok', breaches: [] },
      ],
    )
  },
)
