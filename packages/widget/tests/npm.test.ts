import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { loadPulseScript } from '../build/bundle.ts'
import {
  browserTest,
  computed,
  Harness,
  init,
  noBrowser,
  outcome,
  PUBLISHABLE_KEY,
  PURPOSE,
  require,
  screen,
  until,
} from './harness.ts'
import { bundlePage } from './npm-page.ts'

/** The site's own script, from the site's own origin. */
const SITE_SCRIPT = `
import { loadPulse } from '@bonded/widget'
import '@bonded/widget/element'
import { PulseBond } from '@bonded/widget/react'
import { createElement, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
Object.assign(globalThis, {
  loadPulse,
  code: (options) => loadPulse(options).then((pulse) => pulse.version, (error) => error.code),
  outcomes: [],
  mountReact(props) {
    globalThis.reactRoot ??= createRoot(document.querySelector('#root'))
    const onOutcome = (outcome) => outcomes.push(outcome)
    const onError = (error) => outcomes.push(error.code)
    reactRoot.render(createElement(StrictMode, null, props && createElement(PulseBond, { onOutcome, onError, ...props })))
  },
})`

interface Site {
  loadPulse: (options: object) => Promise<{ origin: string }>
  code: (options: object) => Promise<string>
  outcomes: unknown[]
  mountReact: (props: object | null) => void
  Pulse?: { readonly version: string }
}

const VERSION = '0.1.0'
let h: Harness
let siteScript: string
before(async () => {
  if (noBrowser) return
  ;[h, siteScript] = await Promise.all([Harness.start(), bundlePage(SITE_SCRIPT)])
})
after(async () => h?.[Symbol.asyncDispose]())

/** A page of the site with its own script, and without a tag of the hosted script. */
function site(more: object = {}): Promise<Page> {
  return h.open({
    scripts: '<script src="/site.js" defer></script>',
    files: { '/site.js': siteScript },
    ...more,
  })
}

/** The hosted scripts that pages loaded. */
function hostedScripts(): string[] {
  return h.worker.loaded.filter((path) => path.endsWith('.js'))
}

function codeOf(page: Page, options: object): Promise<string> {
  return page.evaluate((given) => (globalThis as unknown as Site).code(given), options)
}

function policy(...more: string[]): string {
  const { origin } = h.worker
  const sources = [
    "default-src 'none'",
    `script-src 'self' ${origin}`,
    `connect-src 'self' ${origin} ${origin.replace('http', 'ws')}`,
    `img-src ${origin} data:`,
    "require-trusted-types-for 'script'",
  ]
  return [...sources, ...more].join('; ')
}

test('loads the script once and returns the Pulse of the service', browserTest, async () => {
  const page = await site()
  h.worker.loaded.length = 0
  const { origin } = h.worker
  const loaded = await page.evaluate(
    async (options) => {
      const { loadPulse } = globalThis as unknown as Site
      const [first, second] = await Promise.all([loadPulse(options), loadPulse(options)])
      return {
        origin: first.origin,
        isSame: first === second && first === (await loadPulse(options)),
      }
    },
    { origin },
  )
  assert.deepEqual(loaded, { origin, isSame: true })
  assert.deepEqual(hostedScripts(), ['/v1/pulse.js'])
  await init(page)
  await require(page)
  await screen(page, 'waiting')
})

test('returns the Pulse of a script tag without loading it again', browserTest, async () => {
  const { origin } = h.worker
  const scripts = `<script src="${origin}/v1/pulse.js"></script><script src="/site.js"></script>`
  const page = await site({ scripts })
  h.worker.loaded.length = 0
  assert.equal(await codeOf(page, { origin }), VERSION)
  assert.deepEqual(hostedScripts(), [])
})

test('loads a pinned version whose integrity matches', browserTest, async () => {
  const { integrity, version } = await loadPulseScript()
  const page = await site()
  h.worker.loaded.length = 0
  assert.equal(await codeOf(page, { origin: h.worker.origin, version, integrity }), version)
  assert.deepEqual(hostedScripts(), [`/v1/pulse-${version}.js`])
})

test(
  'rejects with a code that names the cause, and loads at the next call',
  browserTest,
  async () => {
    const page = await site()
    const { origin } = h.worker
    const integrity = `sha384-${createHash('sha384').update('other').digest('base64')}`
    for (const [options, code] of [
      [{ origin: `${origin}/v1` }, 'origin_invalid'],
      [{ origin: 'javascript://x' }, 'origin_invalid'],
      [{}, 'origin_invalid'],
      [{ origin, integrity }, 'integrity_without_version'],
      [{ origin, version: VERSION, integrity }, 'script_blocked'],
      [{ origin, version: '9.9.9' }, 'script_blocked'],
      [{ origin, version: '../../x' }, 'script_blocked'],
      [{ origin: 'http://127.0.0.1:1' }, 'script_blocked'],
      [{ origin }, VERSION],
      [{ origin, version: '9.9.9' }, 'other_script'],
      [{ origin: 'http://127.0.0.1:1' }, 'other_script'],
    ] as const)
      assert.equal(await codeOf(page, options), code, JSON.stringify(options))
  },
)

test(
  'rejects with a code where the Content Security Policy blocks the script',
  browserTest,
  async () => {
    const blocked = await site({ csp: "default-src 'none'; script-src 'self'" })
    assert.equal(await codeOf(blocked, { origin: h.worker.origin }), 'script_blocked')
    const message = await blocked.evaluate(
      (origin) =>
        (globalThis as unknown as Site)
          .loadPulse({ origin })
          .catch((error: Error) => error.message),
      h.worker.origin,
    )
    assert.match(String(message), new RegExp(`lacks script-src ${h.worker.origin}\\.$`))
    const untrusted = await site({ csp: policy("trusted-types 'none'") })
    assert.equal(await codeOf(untrusted, { origin: h.worker.origin }), 'trusted_types_blocked')
  },
)

test('loads and bonds under Trusted Types that allow its policy', browserTest, async () => {
  const page = await site({ csp: policy('trusted-types bonded-pulse') })
  assert.equal(await codeOf(page, { origin: h.worker.origin }), VERSION)
  await init(page)
  await require(page)
  await screen(page, 'waiting')
  h.session.moved('bonded')
  assert.equal((await outcome(page)).state, 'bonded')
})

test('rejects on a server, where the element and the component can be imported', () => {
  const program = `
    import '@bonded/widget/element'
    import '@bonded/widget/react'
    import { loadPulse } from '@bonded/widget'
    loadPulse({ origin: 'https://bond.example' }).catch(({ code }) => console.log(code))`
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--conditions=@bonded/source', '--input-type=module', '--eval', program],
    { cwd: import.meta.dirname, encoding: 'utf8' },
  )
  assert.equal(stdout, 'no_document\n', stderr)
})

test(
  'the browser blocks and reports a script tag whose integrity does not match',
  browserTest,
  async () => {
    const wrong = `sha384-${createHash('sha384').update('other').digest('base64')}`
    const page = await h.open({
      scripts: `<script src="${h.worker.origin}/v1/pulse-${VERSION}.js" integrity="${wrong}"
      crossorigin onerror="globalThis.blocked = true"></script>`,
    })
    assert.deepEqual(await page.evaluate('[globalThis.blocked, typeof Pulse]'), [true, 'undefined'])
  },
)

test('a copy on another origin draws no QR code and says so', browserTest, async () => {
  const { source, files } = await loadPulseScript()
  const page = await h.open({
    scripts: '<script src="/copy.js"></script>',
    files: {
      '/copy.js': source,
      ...Object.fromEntries(files.map((file) => [file.path, file.source])),
    },
  })
  const said: string[] = []
  page.on('console', (message) => said.push(message.text()))
  await init(page)
  await require(page)
  const result = { state: 'unavailable', sessionId: null, reason: 'script_not_hosted' }
  assert.deepEqual(await outcome(page), result)
  await screen(page, 'not_set_up')
  assert.ok(said.some((text) => text.includes(`Load pulse.js from ${h.worker.origin}`)))
  assert.equal(h.worker.callsOf('get', h.session).length, 0)
  assert.equal(h.worker.callsOf('socket', h.session).length, 0)
})

test('a copy without the files of the script requests no session', browserTest, async () => {
  const { source } = await loadPulseScript()
  const page = await h.open({
    scripts: '<script src="/copy.js"></script>',
    files: { '/copy.js': source },
  })
  await init(page)
  await require(page)
  const result = { state: 'unavailable', sessionId: null, reason: 'network' }
  assert.deepEqual(await outcome(page), result)
  assert.equal(h.sessions.length, 0)
})

test('a copy without an origin rejects every call', browserTest, async () => {
  const { source } = await loadPulseScript()
  const page = await h.open({ scripts: `<script>${source}</script>` })
  await assert.rejects(init(page), /Load pulse\.js from the service/)
  await assert.rejects(
    require(page).then(() => outcome(page)),
    /Call Pulse\.init/,
  )
  assert.equal(h.sessions.length, 0)
})

test('<pulse-bond> reserves its box, loads the script, and bonds', browserTest, async () => {
  const page = await site({
    body: `<pulse-bond origin="${h.worker.origin}" publishable-key="${PUBLISHABLE_KEY}"
      workflow="${PURPOSE.workflow}" action="${PURPOSE.action}"
      session-endpoint="/bond-session"></pulse-bond>`,
  })
  const element = page.locator('pulse-bond')
  await page.waitForFunction("customElements.get('pulse-bond')")
  assert.equal((await element.boundingBox())?.height, 168)
  await page.evaluate(
    "void (outcome = document.querySelector('pulse-bond').requireBond({ context: { amount: 2 } }))",
  )
  await screen(page, 'waiting')
  assert.deepEqual(h.requests.at(-1), { ...PURPOSE, context: { amount: 2 } })
  h.session.moved('bonded')
  assert.equal((await outcome(page)).sessionId, h.session.id)
  await element.evaluate((node) => node.setAttribute('action', ''))
  const again = "document.querySelector('pulse-bond').requireBond().catch(({ code }) => code)"
  assert.equal(await page.evaluate(again), 'action_invalid')
})

const PROPS = {
  publishableKey: PUBLISHABLE_KEY,
  ...PURPOSE,
  sessionEndpoint: '/bond-session',
  context: { amount: 2 },
}
const mount = (page: Page, props: object | null) =>
  page.evaluate((given) => (globalThis as unknown as Site).mountReact(given), props)
const outcomesOf = (page: Page) =>
  page.evaluate(() => (globalThis as unknown as Site).outcomes) as Promise<
    { readonly state: string; readonly sessionId: string }[]
  >

test(
  'the React component requests one bond in StrictMode and reports it once',
  browserTest,
  async () => {
    const page = await site({ body: '<div id="root"></div>' })
    const props = { ...PROPS, origin: h.worker.origin }
    await mount(page, props)
    await screen(page, 'waiting')
    // A new render with equal values keeps the bond.
    await mount(page, { ...props, context: { amount: 2 } })
    assert.equal(h.sessions.length, 1)
    assert.deepEqual(h.requests.at(-1), { ...PURPOSE, context: { amount: 2 } })
    h.session.moved('bonded')
    await page.waitForFunction('outcomes.length === 1')
    assert.deepEqual(await outcomesOf(page), [{ state: 'bonded', sessionId: h.session.id }])
  },
)

test('the React component requests a new bond for other values', browserTest, async () => {
  const page = await site({ body: '<div id="root"></div>' })
  const props = { ...PROPS, origin: h.worker.origin }
  await mount(page, props)
  await screen(page, 'waiting')
  await mount(page, { ...props, context: { amount: 3 } })
  await until(() => h.sessions.length === 2)
  h.session.moved('bonded')
  await page.waitForFunction('outcomes.length === 1')
  assert.equal((await outcomesOf(page))[0]?.sessionId, h.session.id)
})

test('the React component reports nothing after it is unmounted', browserTest, async () => {
  const page = await site({ body: '<div id="root"></div>' })
  const props = { ...PROPS, origin: h.worker.origin }
  await mount(page, props)
  await screen(page, 'waiting')
  await mount(page, null)
  // Mounted again for the same request, it continues the same session, as after a reload.
  await mount(page, props)
  await screen(page, 'waiting')
  h.session.moved('bonded')
  await page.waitForFunction('outcomes.length > 0')
  assert.deepEqual(await outcomesOf(page), [{ state: 'bonded', sessionId: h.session.id }])
  assert.equal(h.sessions.length, 1)
})

test(
  'the React component offers Try again with onRetry, of its latest render',
  browserTest,
  async () => {
    const page = await site({ body: '<div id="root"></div>' })
    const mountWith = (name: string) =>
      page.evaluate(
        ({ props, said }) => {
          const { mountReact, outcomes } = globalThis as unknown as Site
          mountReact({ ...props, onRetry: () => outcomes.push(said) })
        },
        { props: { ...PROPS, origin: h.worker.origin }, said: name },
      )
    await mountWith('first')
    await screen(page, 'waiting')
    await mountWith('second')
    h.session.moved('killed', 'user_declined')
    await screen(page, 'declined')
    await page.getByRole('button', { name: 'Try again' }).click()
    assert.equal(await page.evaluate('outcomes.at(-1)'), 'second')
  },
)

test('the React component reports a wrong option', browserTest, async () => {
  const page = await site({ body: '<div id="root"></div>' })
  await mount(page, { ...PROPS, origin: h.worker.origin, publishableKey: 'pk_live_1' })
  await page.waitForFunction('outcomes.length === 1')
  assert.deepEqual(await outcomesOf(page), ['publishable_key_invalid'] as unknown[])
})

test(
  'closes as unavailable, in plain text, when the styles cannot be loaded',
  browserTest,
  async () => {
    const page = await site()
    await page.route('**/v1/style/*', (route) => route.fulfill({ body: '.card{color:red}' }))
    assert.equal(await codeOf(page, { origin: h.worker.origin }), VERSION)
    await init(page)
    await require(page)
    const result = { state: 'unavailable', sessionId: null, reason: 'network' }
    assert.deepEqual(await outcome(page), result)
    const card = page.locator('.card')
    assert.equal(await computed(card, 'opacity'), '1')
    assert.equal(await page.locator('.qr').count(), 0)
    await page.unroute('**/v1/style/*')
    await require(page)
    await screen(page, 'waiting')
  },
)
