import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, before, test } from 'node:test'
import { browserMissing } from '../../../tests/browser.ts'
import { addAuthenticator, heading, press, readAll, screen, shownScreen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

const browserTest = { skip: browserMissing, timeout: 600_000 }
let sandbox: Sandbox
before(async () => {
  if (!browserMissing) sandbox = await Sandbox.start()
})
after(async () => sandbox?.[Symbol.asyncDispose]())

const nonceOf = (link: string) => new URL(link).searchParams.get('nonce') ?? ''

test('is not shown in a frame of another page', browserTest, async () => {
  const { universal_link } = await sandbox.create()
  const attacker = createServer((_request, response) =>
    response
      .setHeader('content-type', 'text/html')
      .end(`<iframe src="${universal_link.replaceAll('&', '&amp;')}"></iframe>`),
  ).listen(0, '127.0.0.1')
  await once(attacker, 'listening')
  const { port } = attacker.address() as { port: number }
  const { page, context } = await sandbox.phone()
  await page.goto(`http://127.0.0.1:${port}/`)
  const frame = page.frames().find((one) => one !== page.mainFrame())
  assert.equal(await frame?.locator('article').count(), 0)
  assert.match(frame?.url() ?? '', /^chrome-error:/)
  await context.close()
  attacker.close()
})

/** Taps Approve as soon as a page shows the request for € 9,500, and again 66 ms later. */
const TAP_AT_ONCE = `new MutationObserver(() => {
  if (!document.body?.textContent.includes('€9,500.00') || globalThis.isSeen) return
  globalThis.isSeen = true
  const tap = () => {
    for (const button of document.querySelectorAll('button'))
      if (button.textContent === 'Approve') button.click()
  }
  tap()
  setTimeout(() => { tap(); globalThis.isTapped = true }, 66)
}).observe(document, { subtree: true, childList: true })`

test('an opener cannot put another request under a tap on “Approve”', browserTest, async (t) => {
  const attacker = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end('<title>attacker</title>'),
  ).listen(0, '127.0.0.1')
  t.after(() => attacker.close())
  await once(attacker, 'listening')
  const { port } = attacker.address() as { port: number }
  const small = await sandbox.create({
    context: { display: [{ label: 'Amount', value: '€12.00' }] },
  })
  const large = await sandbox.create({
    context: { display: [{ label: 'Amount', value: '€9,500.00' }] },
  })
  const { page: opener, context } = await sandbox.phone()
  await context.addInitScript(TAP_AT_ONCE)
  await opener.goto(`http://127.0.0.1:${port}/`)
  const [victim] = await Promise.all([
    context.waitForEvent('page'),
    opener.evaluate(`globalThis.victim = open(${JSON.stringify(small.universal_link)})`),
  ])
  await addAuthenticator(context, victim)
  await press(victim, 'Set up this phone')
  await screen(victim, 'request')

  // A page that the attacker cannot reach any more is closed to it.
  await opener.evaluate(
    `try { victim.location = ${JSON.stringify(large.universal_link)} } catch {}`,
  )
  assert.equal(await opener.evaluate('victim.closed'), true)
  await victim.getByRole('button', { name: 'Approve', disabled: false }).waitFor()
  assert.ok((await victim.locator('main').innerText()).includes('€12.00'))

  // In whatever way another request reaches the tab.
  await victim.goto(large.universal_link)
  await screen(victim, 'request')
  await victim.getByRole('alert').filter({ hasText: 'not the request' }).waitFor()
  await victim.getByRole('button', { name: 'Approve', disabled: false }).waitFor()
  assert.equal(await victim.evaluate('isTapped'), true)
  await screen(victim, 'request')
  assert.equal((await sandbox.stateOf(large)).state, 'pending')
  await victim.reload()
  await victim.getByRole('alert').filter({ hasText: 'not the request' }).waitFor()
  await press(victim, 'Approve')
  await screen(victim, 'approved')
  await context.close()
})

test('a value cannot draw a row of its own', browserTest, async () => {
  const value = `Acme Ltd${' '.repeat(60)}Amount${'\u2800'.repeat(60)}€12.00`
  const display = [
    { label: 'Payee', value },
    { label: 'Amount', value: '€ 9,500.00' },
  ]
  const session = await sandbox.create()
  const phone = await sandbox.phone({}, { viewport: { width: 320, height: 568 } })
  const { page } = phone
  // The service rejects such a value at create, so it is put into the response to the claim.
  await page.route('**/claim', async (route) => {
    const response = await route.fetch()
    const view = (await response.json()) as object
    await route.fulfill({ response, json: { ...view, context: { display } } })
  })
  await phone.open(session)
  const shown = await page.locator('.pairs dd').first().textContent()
  // The phone replaces what the service rejects by visible marks.
  assert.equal(shown, `Acme Ltd\uFFFDAmount${'\uFFFD'.repeat(60)}€12.00`)
  const boxes = await page.evaluate<{ inside: boolean; edge: number }[]>(
    `Array.from(document.querySelectorAll('dl > div'), (box) => {
      const outer = box.getBoundingClientRect()
      const parts = Array.from(box.querySelectorAll('*'), (part) => part.getBoundingClientRect())
      return {
        inside: parts.every(({ top, bottom, left, right }) =>
          top >= outer.top && bottom <= outer.bottom && left >= outer.left && right <= outer.right),
        edge: parseFloat(getComputedStyle(box).borderTopWidth),
      }
    })`,
  )
  assert.ok(boxes.length >= 3)
  for (const { inside, edge } of boxes) assert.deepEqual([inside, edge], [true, 1])
  await phone.context.close()
})

test(
  'the nonce is in no log line, no referrer, and no request to another host',
  browserTest,
  async () => {
    const session = await sandbox.create()
    const phone = await sandbox.phone()
    const { page, context } = phone
    const referrers: string[] = []
    const hosts = new Set<string>()
    page.on('request', (request) => {
      hosts.add(new URL(request.url()).host)
      referrers.push(request.headers().referer ?? '')
    })
    await phone.open(session)
    await press(page, 'Approve')
    await screen(page, 'approved')
    await sandbox.complete(session)
    await screen(page, 'completed')
    const nonce = nonceOf(session.universal_link)
    assert.equal(nonce.length, 43)
    assert.ok(sandbox.log.length > 5)
    assert.deepEqual(
      sandbox.log.filter((line) => line.includes(nonce)),
      [],
    )
    assert.deepEqual(
      referrers.filter((referrer) => referrer !== ''),
      [],
    )
    assert.deepEqual([...hosts], [new URL(sandbox.origin).host])
    await context.close()
  },
)

test('shows hostile texts as they are', browserTest, async () => {
  const display = [
    { label: 'Amount</dt><b>', value: '<img src=x onerror="document.title=1">' },
    { label: '{tenant}', value: 'javascript:alert(1) {time} {constructor}' },
    { label: '__proto__', value: '</main><script>document.body.remove()</script>' },
    { label: 'مبلغ', value: 'شیراز 12,500.00 € (approved)' },
    { label: 'Long', value: 'W'.repeat(256) },
  ]
  const session = await sandbox.create({ context: { display } })
  const phone = await sandbox.phone({}, { viewport: { width: 320, height: 568 } })
  const { page, context } = phone
  await phone.open(session)
  const shown = await page.locator('dd, dt').allTextContents()
  for (const { label, value } of display)
    for (const text of [label, value]) assert.ok(shown.includes(text), text)
  assert.equal(await page.locator('main img, main script, main b').count(), 0)
  assert.equal(
    await page.evaluate(
      'document.scrollingElement.scrollWidth > document.documentElement.clientWidth',
    ),
    false,
  )
  await readAll(page)
  await press(page, 'Approve')
  await screen(page, 'approved')
  assert.equal((await sandbox.stateOf(session)).state, 'bonded')
  await context.close()
})

test('a polluted prototype approves nothing and hides nothing', browserTest, async () => {
  const session = await sandbox.create()
  const phone = await sandbox.phone()
  const { page, context } = phone
  await page.addInitScript(() => {
    const hostile = {
      state: 'completed',
      name: 'approved',
      tenant_name: 'Other Bank',
      requesting_origin: 'https://bank.example',
      display: [{ label: 'Amount', value: '€1.00' }],
      challenge_expired: 'offline',
      'request.title': 'hostile',
      nonce: 'x',
      isSynced: true,
      verified: true,
    }
    const shared: object = Object.getPrototypeOf({})
    for (const [key, value] of Object.entries(hostile))
      Object.defineProperty(shared, key, {
        value,
        configurable: true,
        enumerable: false,
        writable: true,
      })
  })
  await phone.open(session)
  assert.equal(await heading(page), 'Harbour Bank asks for your approval')
  const shown = await page.locator('main').innerText()
  assert.ok(shown.includes('€12,500.00') && !shown.includes('€1.00') && shown.includes('Not known'))
  assert.equal((await sandbox.stateOf(session)).state, 'pending')
  await press(page, 'This wasn’t me')
  await screen(page, 'ended')
  assert.equal(await heading(page), 'Request stopped')
  assert.equal((await sandbox.stateOf(session)).ended_reason, 'user_unexpected')
  await context.close()
})

test('a double tap on “Approve” signs once', browserTest, async () => {
  const session = await sandbox.create()
  const phone = await sandbox.phone()
  const { page, context } = phone
  await phone.open(session)
  await page.getByRole('button', { name: 'Approve', disabled: false }).waitFor()
  let assertions = 0
  page.on('request', (request) => {
    if (request.url().endsWith('/attestations')) assertions++
  })
  await page.evaluate(`for (const button of document.querySelectorAll('button'))
    if (button.textContent === 'Approve') { button.click(); button.click(); button.click() }`)
  await screen(page, 'approved')
  assert.equal(assertions, 1)
  await context.close()
})

test(
  'the back button returns to the request, which can still be approved',
  browserTest,
  async () => {
    const session = await sandbox.create()
    const phone = await sandbox.phone()
    const { page, context } = phone
    await phone.open(session)
    await page.goto(`${sandbox.origin}/health/live`)
    await page.goBack()
    await screen(page, 'request')
    await press(page, 'Approve')
    await screen(page, 'approved')
    await page.goto(`${sandbox.origin}/health/live`)
    await page.goBack()
    await screen(page, 'approved')
    await context.close()
  },
)

test('two tabs create one passkey, and either one can end the request', browserTest, async () => {
  await sandbox.removeDevices()
  const session = await sandbox.create()
  const { page, context } = await sandbox.phone()
  // A tab has the virtual authenticator of its target, so the second tab only follows.
  const second = await context.newPage()
  await page.goto(session.universal_link)
  await second.goto(session.universal_link)
  await screen(second, 'setup')
  await page.bringToFront()
  await press(page, 'Set up this phone')
  await screen(page, 'request')
  await second.bringToFront()
  await press(second, 'Set up this phone')
  await screen(second, 'request')
  assert.equal((await sandbox.devices()).length, 1)

  await press(second, 'Decline')
  await screen(second, 'ended')
  await screen(page, 'ended')
  assert.equal(await heading(page), 'The request was canceled')
  await context.close()
})

test('a phone whose clock is a day ahead approves', browserTest, async () => {
  const session = await sandbox.create()
  const phone = await sandbox.phone()
  const { page, context } = phone
  await page.clock.install({ time: Date.now() + 86_400_000 })
  await phone.open(session)
  await press(page, 'Approve')
  await screen(page, 'approved')
  assert.equal((await sandbox.stateOf(session)).state, 'bonded')
  await context.close()
})

test('storage that is cleared midway does not stop the open request', browserTest, async () => {
  const session = await sandbox.create()
  const phone = await sandbox.phone()
  const { page, context } = phone
  await phone.open(session)
  await page.evaluate(`new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase('bonded-phone')
    request.onsuccess = resolve
    request.onerror = reject
  })`)
  await press(page, 'Approve')
  await screen(page, 'approved')
  const next = await sandbox.create()
  await page.goto(next.universal_link)
  await screen(page, 'setup')
  assert.equal((await sandbox.stateOf(next)).state, 'pending')
  await context.close()
})

test('rejects a session of another service behind its own address', browserTest, async () => {
  await using other = await Sandbox.start()
  const { search } = new URL((await other.create()).universal_link)
  const phone = await sandbox.phone()
  const { page, context } = phone
  await phone.open(await sandbox.create())
  await page.goto(`${sandbox.origin}/bond${search}`)
  await screen(page, 'problem')
  assert.equal(await heading(page), 'This request has ended')

  // The same service under another name: the key belongs to one name only.
  const session = await sandbox.create()
  await page.goto(session.universal_link.replace('localhost', '127.0.0.1'))
  await screen(page, 'setup')
  await press(page, 'Set up this phone')
  await screen(page, 'problem')
  assert.notEqual(await shownScreen(page), 'request')
  assert.equal((await sandbox.stateOf(session)).state, 'pending')
  await context.close()
})
