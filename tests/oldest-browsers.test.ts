import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import type { BrowserName } from '@mdn/browser-compat-data'
import { loadPulseScript } from '@bonded/widget/script'
import { loadPhonePage } from '../packages/phone-page/build/bundle.ts'
import { checkScripts } from './oldest-browsers/check-scripts.ts'
import { checkStyles } from './oldest-browsers/check-styles.ts'
import { compatOf, DATA, isSupported, OLDEST } from './oldest-browsers/support.ts'

const ROOT = resolve(import.meta.dirname, '..')
const TIMEOUT = { timeout: 120_000 }

/** The first file of each script that a browser loads. */
const SCRIPTS = [
  'packages/widget/src/entry.ts',
  'packages/widget/src/loading/loaded.ts',
  'packages/widget/src/browser-proof/open-proof.ts',
  'packages/widget/src/npm/load-pulse.ts',
  'packages/widget/src/npm/element.ts',
  'packages/phone-page/src/document/start.ts',
  'packages/phone-page/src/main.ts',
  'packages/phone-page/src/inbox/main.ts',
  'packages/phone-page/src/frame/main.ts',
  'packages/phone-page/src/portal/main.ts',
]

test('no script uses what one of the oldest browsers lacks', TIMEOUT, async () => {
  assert.deepEqual(await checkScripts(SCRIPTS), [])
})

test('no style uses what one of the oldest browsers lacks', TIMEOUT, async () => {
  const { files } = await loadPulseScript()
  const { style, frame, portal, inbox } = await loadPhonePage()
  const widget = files.filter(({ path }) => path.endsWith('.css')).map(({ source }) => source)
  assert.equal(widget.length, 1)
  for (const css of [...widget, style, frame.style, portal.style, inbox.style])
    assert.deepEqual(checkStyles(css), [])
})

test(
  'the checks find each kind of a newer feature, and accept a test for its presence',
  TIMEOUT,
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'bonded-newer-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'newer.ts')
    const newer = [
      'Promise.withResolvers<void>()',
      "['b', 'a'].toSorted()",
      "''.isWellFormed()",
      "URL.canParse('/')",
      'document.body.checkVisibility()',
      'void ({} as PublicKeyCredential).toJSON()',
      "new Intl.Locale('en').getTextInfo()",
      'document.startViewTransition(() => {})',
      'navigation.back()',
    ]
    const detected = [
      'document.body.checkVisibility?.()',
      "if (URL.canParse !== undefined) URL.canParse('/')",
    ]
    writeFileSync(file, `export {}\n${[...newer, ...detected].join('\n')}\n`)
    const syntax = join(folder, 'syntax.ts')
    writeFileSync(syntax, 'export const letters = /[\\p{L}--[a-z]]/v\n')
    assert.notDeepEqual(await checkScripts([syntax]), [])
    const lines = (await checkScripts([file])).map((error) => Number(/\((\d+),/.exec(error)?.[1]))
    assert.deepEqual(
      [...new Set(lines)].map((line) => line - 2),
      newer.map((_, index) => index),
    )

    for (const [css, what] of [
      ['a { field-sizing: 1 }', 'field-sizing'],
      ['a { color: color-mix(in srgb, red, blue) }', 'color-mix()'],
      ['a { & b { color: red } }', '&'],
      ['a:has(b) { color: red }', ':has'],
      ['@starting-style { a { color: red } }', '@starting-style'],
      ['a { display: ruby-base }', 'display: ruby-base'],
      ['a { color: light-dark(red, blue) }', 'light-dark()'],
    ] as const)
      assert.deepEqual(checkStyles(css), [what], css)
    assert.deepEqual(
      checkStyles('a { height: 100dvh } @supports (a: b) { a { field-sizing: content } }'),
      [],
    )
  },
)

test('the documents state the oldest browsers', () => {
  const sentence = `Chrome ${OLDEST.chrome}, Firefox ${OLDEST.firefox}, Safari ${OLDEST.safari} (iOS ${OLDEST.safari_ios}), and Samsung Internet ${OLDEST.samsunginternet_android}`
  for (const file of ['packages/widget/README.md', 'packages/phone-page/README.md', 'README.md'])
    assert.ok(readFileSync(join(ROOT, file), 'utf8').includes(sentence), `${file}: ${sentence}`)
})

test('what the scripts ask for to find a browser that is too old came with the oldest browsers', () => {
  const came = [
    DATA.api.CompressionStream,
    DATA.css.types?.['length']?.['viewport_percentage_units_dynamic'],
  ].map((entry) => {
    const known = compatOf(entry)
    assert.ok(known !== undefined && isSupported(known))
    return ['safari_ios', 'firefox', 'chrome'].map((browser) => {
      const [support] = [known.support[browser as BrowserName] ?? []].flat()
      return support?.version_added
    })
  })
  assert.deepEqual(came, [
    ['16.4', '113', '80'],
    ['15.4', '101', '108'],
  ])
})
