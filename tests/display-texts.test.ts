import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import { bundle } from '../packages/phone-page/build/bundle.ts'
import { requestOf } from '@bonded/phone'
import type { PhoneSession } from '@bonded/contract'
import { browserMissing, openBrowser } from './browser.ts'
import { LANGUAGES, textsIn } from './harness/intl-texts.ts'

const browserTest = { skip: browserMissing, timeout: 300_000 }
const ROOT = join(import.meta.dirname, '..')
/** How the phone page and the widget draw the pairs of a context, each with its own style. */
const DRAWN = `
  import { pairs } from './packages/phone-page/src/view/parts.ts'
  import { pairRows } from './packages/widget/src/view/pairs.ts'
  import { PARTS } from './packages/widget/src/view/styles/parts.ts'
  const shadow = document.querySelector('aside').attachShadow({ mode: 'open' })
  globalThis.drawPhone = (rows) => {
    document.querySelector('main').replaceChildren(pairs(rows))
    return document.querySelector('main')
  }
  globalThis.drawWidget = (rows) => {
    const list = document.createElement('dl')
    list.append(...pairRows(rows.map(({ label, value }) => [label, value])))
    const style = document.createElement('style')
    style.textContent = PARTS
    shadow.replaceChildren(style, list)
    return shadow
  }
`
let browser: Browser
let page: Page
before(async () => {
  if (browserMissing) return
  browser = await openBrowser()
  page = await browser.newPage({ viewport: { width: 360, height: 800 } })
  const { style } = await bundle()
  await page.setContent(
    `<!doctype html><html lang="en"><style>${style}</style><main></main><aside></aside>`,
  )
  const { outputFiles } = await build({
    stdin: { contents: DRAWN, resolveDir: ROOT, loader: 'ts' },
    bundle: true,
    write: false,
    format: 'iife',
    conditions: ['@bonded/source'],
    tsconfigRaw: {},
  })
  await page.addScriptTag({ content: outputFiles[0]?.text ?? '' })
})
after(async () => browser?.close())

/** The text of each drawn value, and the labels and values that are not isolated. */
function draw(
  place: 'drawPhone' | 'drawWidget',
  rows: readonly { label: string; value: string }[],
) {
  return page.evaluate(
    `(() => {
      const root = ${place}(${JSON.stringify(rows)})
      const all = [...root.querySelectorAll('dt, dd')]
      const open = all.filter((one) => {
        const { unicodeBidi } = getComputedStyle(one)
        return one.dir !== 'auto' || !/isolate|plaintext/.test(unicodeBidi)
      })
      return {
        values: [...root.querySelectorAll('dd')].map((dd) => dd.textContent),
        open: open.map((one) => one.textContent),
      }
    })()`,
  ) as Promise<{ values: string[]; open: string[] }>
}

const session = (display: PhoneSession['context']) =>
  ({
    tenant_name: 'Bank',
    requesting_origin: null,
    workflow: null,
    action: null,
    workflow_title: null,
    action_title: null,
    context: display,
    expires_in_ms: 0,
  }) as unknown as PhoneSession

for (const place of ['drawPhone', 'drawWidget'] as const)
  test(
    `${place}: shows what Intl writes unchanged and isolated, in every language`,
    browserTest,
    async () => {
      for (const language of LANGUAGES) {
        const values = [...new Set(textsIn(language))]
        const given = values.map((value, index) => ({ label: `Label ${index}`, value }))
        const rows = place === 'drawPhone' ? requestOf(session({ display: given })).display : given
        const drawn = await draw(place, rows)
        assert.deepEqual(drawn.values, values, language)
        assert.deepEqual(drawn.open, [], language)
      }
    },
  )

test('a value with directional marks moves nothing beside it', browserTest, async () => {
  const place = () =>
    page.evaluate(`[...document.querySelectorAll('main dt')].map((dt) => {
      const range = document.createRange()
      range.selectNodeContents(dt)
      const { x, width } = range.getBoundingClientRect()
      return [Math.round(x), Math.round(width)]
    })`)
  const rows = (value: string) => [
    { label: 'Amount (1)', value },
    { label: '2 fees', value: '100 200' },
  ]
  await draw('drawPhone', rows('12'))
  const plain = await place()
  await draw('drawPhone', rows('\u200f12 ₪'))
  assert.deepEqual(await place(), plain)
})
