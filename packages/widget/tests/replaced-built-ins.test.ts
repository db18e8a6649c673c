import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import {
  browserTest,
  Harness,
  init,
  noBrowser,
  outcome,
  PUBLISHABLE_KEY,
  PURPOSE,
  type PageScript,
  require,
} from './harness.ts'
import { noZbar, readQrFrom, readQrWithZbar } from './read-qr.ts'

/** Version 1.7.3, of the Debian package `libjs-prototype`. */
const PROTOTYPE = '/usr/share/javascript/prototype/prototype.js'
const noPrototype = existsSync(PROTOTYPE)
  ? false
  : 'NO PROTOTYPE.JS: install it (apt-get install libjs-prototype).'

const KEYS = { publishableKey: PUBLISHABLE_KEY, workflow: PURPOSE.workflow }

let h: Harness
before(async () => {
  if (!noBrowser) h = await Harness.start()
})
after(async () => h?.[Symbol.asyncDispose]())

/** Opens a page whose own script runs before that of the service. */
async function openAfter(library: string, script: PageScript = {}) {
  const page = await h.open({
    ...script,
    files: { '/library.js': library },
    scripts: ['/library.js', `${h.worker.origin}/v1/pulse.js`]
      .map((src) => `<script src="${src}"></script>`)
      .join(''),
  })
  await init(page, { sessionEndpoint: '/bond-session' })
  return page
}

/** What libraries of pages put in place of functions of the language. */
const LIBRARIES: readonly (readonly [name: string, source: () => string])[] = [
  ['Prototype.js 1.7.3', () => readFileSync(PROTOTYPE, 'utf8')],
  ['Array.from of MooTools', () => 'Array.from = (item) => item == null ? [] : [item]'],
  ['Array.from without a function', () => 'Array.from = (items) => [].slice.call(items)'],
  [
    'enumerable functions of arrays and texts',
    () => `for (const name of ['each', 'first', 'remove', 'toArray', 'inspect'])
      Array.prototype[name] = String.prototype[name] = Function.prototype[name] = () => []`,
  ],
]

for (const [name, source] of LIBRARIES)
  test(`shows the QR code and bonds on a page with ${name}`, {
    ...browserTest,
    ...(name.startsWith('Prototype') && noPrototype ? { skip: noPrototype } : {}),
  }, async () => {
    const page = await openAfter(source())
    await require(page, { context: { display: [{ label: 'Amount', value: '€12' }] } })
    await page.locator('.qr').waitFor()
    assert.equal(await readQrFrom(page), h.session.payload)
    h.session.hinted('scanned')
    await page.locator('.card[data-screen=scanned]').waitFor()
    h.session.moved('bonded')
    const { state, sessionId } = await outcome(page)
    assert.deepEqual({ state, sessionId }, { state: 'bonded', sessionId: h.session.id })
  })

/** What a page may put in place of what the widget and the browser's functions build on. */
const REPLACED: readonly (readonly [name: string, source: string])[] = [
  ['JSON of arrays that is a text', 'Array.prototype.toJSON = () => "[]"'],
  ...(['Array', 'String', 'Map', 'Set'] as const).flatMap((type) => [
    [
      `iteration of ${type} that throws`,
      `${type}.prototype[Symbol.iterator] = () => { throw new TypeError('replaced') }`,
    ] as const,
    [
      `iteration of ${type} that yields nothing`,
      `${type}.prototype[Symbol.iterator] = () => ({ next: () => ({ done: true }) })`,
    ] as const,
  ]),
  [
    'an old iterator of arrays, which yields indexes',
    `Array.prototype[Symbol.iterator] = function () {
      let at = -1
      return { next: () => ({ value: (at += 1), done: at >= this.length }) }
    }`,
  ],
]

/**
 * Opens a page that starts, and that replaces built-ins, when its buttons are pressed. The test
 * reads the document alone: an evaluation in the page would itself iterate.
 */
async function openButtons(before: string, later: string) {
  const site = `
    const press = (id, act) => document.getElementById(id).addEventListener('click', act)
    Pulse.init(${JSON.stringify({ ...KEYS, sessionEndpoint: '/bond-session' })})
    press('start', () => Pulse.requireBond({ action: '${PURPOSE.action}' }).then((outcome) =>
      (document.body.dataset.outcome = JSON.stringify(outcome))))
    press('replace', () => { ${later} })`
  const page = await h.open({
    body: '<button id="start">Start</button><button id="replace">Replace</button><div data-pulse-widget></div>',
    files: { '/library.js': before, '/site.js': site },
    scripts: `<script src="/library.js"></script><script src="${h.worker.origin}/v1/pulse.js"></script><script src="/site.js" defer></script>`,
  })
  return {
    page,
    press: (id: 'start' | 'replace') => page.locator(`#${id}`).click(),
    outcome: async () =>
      JSON.parse(String(await page.locator('[data-outcome]').getAttribute('data-outcome'))),
    // It replaces the widget and its QR code, where there was one.
    sentence: () =>
      page.locator('[data-pulse-widget]', { hasText: 'This page cannot ask your phone' }).waitFor(),
  }
}

const UNAVAILABLE = { state: 'unavailable', sessionId: null, reason: 'built_ins_replaced' }

for (const [name, source] of REPLACED)
  test(`settles as built_ins_replaced on a page with ${name}`, browserTest, async () => {
    const p = await openButtons(source, '')
    await p.press('start')
    assert.deepEqual(await p.outcome(), UNAVAILABLE)
    await p.sentence()
    assert.equal(h.sessions.length, 0)
  })

for (const [name, source] of REPLACED.filter(([name]) => !/String|Set/.test(name)))
  test(`settles a bond that waits when its page adds ${name}`, browserTest, async () => {
    const p = await openButtons('', source)
    await p.press('start')
    await p.page.locator('.qr').waitFor()
    await p.press('replace')
    assert.deepEqual(await p.outcome(), UNAVAILABLE)
    await p.sentence()
  })

const [THROWING] = REPLACED.filter(([name]) => name === 'iteration of Array that throws')

test(
  'settles as built_ins_replaced where iteration was replaced after init',
  browserTest,
  async () => {
    const p = await openButtons('', String(THROWING?.[1]))
    await p.press('replace')
    await p.press('start')
    assert.deepEqual(await p.outcome(), UNAVAILABLE)
    await p.sentence()
  },
)

test('keeps an outcome after which a page replaces iteration', browserTest, async () => {
  const p = await openButtons('', String(THROWING?.[1]))
  await p.press('start')
  await p.page.locator('.qr').waitFor()
  h.session.moved('bonded')
  assert.equal((await p.outcome()).state, 'bonded')
  await p.press('replace')
  h.session.moved('completed')
  await p.page.locator('.card[data-screen=bonded]').waitFor()
})

test('settles as internal_error when the QR code cannot be drawn', browserTest, async () => {
  const page = await openAfter(`const { setAttribute } = Element.prototype
    Element.prototype.setAttribute = function (name, value) {
      if (name === 'd' && value.length > 1000) throw new Error('no')
      return setAttribute.call(this, name, value)
    }`)
  await require(page)
  const { state, reason } = await outcome(page)
  assert.deepEqual([state, reason], ['unavailable', 'internal_error'])
})

/** Rules that extensions add to pages and to their shadow roots, to recolor them. */
const RECOLORED: readonly (readonly [name: string, css: string])[] = [
  ['a dark background and light text', '*{background:#181a1b!important;color:#e8e6e3!important}'],
  ['recolored drawings', 'svg,svg *{fill:#e8e6e3!important;stroke:#e8e6e3!important}'],
  [
    'recolored paths',
    'path{fill:#181a1b!important;fill-opacity:.5!important;opacity:.5!important}',
  ],
  ['inverted drawings', 'svg,path{filter:invert(1)!important;mix-blend-mode:difference!important}'],
]

for (const [name, css] of RECOLORED)
  test(`draws the QR code black on white under ${name}`, {
    ...browserTest,
    skip: noBrowser || noZbar,
  }, async () => {
    const page = await openAfter(
      `const { attachShadow } = Element.prototype
      Element.prototype.attachShadow = function (options) {
        const root = attachShadow.call(this, options)
        const style = document.createElement('style')
        style.textContent = ${JSON.stringify(css)}
        const add = () => style.isConnected || root.append(style)
        new MutationObserver(add).observe(root, { childList: true })
        root.append(style)
        return root
      }`,
      { colorScheme: 'dark', forcedColors: name.startsWith('recolored') ? 'active' : 'none' },
    )
    await page.addStyleTag({ content: css })
    await require(page)
    await page.locator('.qr').waitFor()
    assert.equal(await readQrFrom(page), h.session.payload)
    // This decoder reads no inverted QR code.
    assert.equal(readQrWithZbar(await page.screenshot()), h.session.payload)
  })
