import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Page } from 'playwright-core'
import type { ProofTexts } from '../src/browser-proof/texts.ts'
import { LONGEST, longestOf, measured } from '../../../tests/harness/measured-languages.ts'
import { en, type Messages } from '../src/messages/messages.ts'

/** The texts of every language, by tag. */
export const LANGUAGES: ReadonlyMap<string, Messages> = new Map(
  readdirSync(new URL('../src/messages/', import.meta.url))
    .filter((name) => name.endsWith('.json'))
    .map((name) => [
      name.slice(0, -'.json'.length),
      JSON.parse(
        readFileSync(new URL(`../src/messages/${name}`, import.meta.url), 'utf8'),
      ) as Messages,
    ]),
)

/** The texts of the browser's proof in every language, by tag. */
export const PROOF_LANGUAGES: ReadonlyMap<string, ProofTexts> = new Map(
  [...LANGUAGES.keys()].map((tag) => [
    tag,
    JSON.parse(
      readFileSync(new URL(`../src/browser-proof/messages/${tag}.json`, import.meta.url), 'utf8'),
    ) as ProofTexts,
  ]),
)

/** The languages that tests of the layout draw. */
export const MEASURED = measured(LANGUAGES.keys()).map(
  (tag) =>
    [
      tag,
      tag === LONGEST ? longestOf(LANGUAGES.values()) : LANGUAGES.get(tag)!,
      tag === LONGEST ? longestOf(PROOF_LANGUAGES.values()) : PROOF_LANGUAGES.get(tag)!,
    ] as const,
)

/** The screens of the browser's proof, and the last one of a browser that cannot give it. */
export const PROOF_SCREENS = ['browser', 'browser_again', 'browser_frame', 'browser_unsupported']

/** English with accents, and a third longer, as the longest languages are. */
export const PSEUDO = longer(en)
export const PROOF_PSEUDO = longer(PROOF_LANGUAGES.get('en')!)

function longer<T extends object>(texts: T): T {
  return Object.fromEntries(
    Object.entries(texts).map(([key, text]: [string, unknown]) => [
      key,
      typeof text === 'string'
        ? text.replace(/(?<![{\w])\w+(?![\w}])/g, (word) => `${word}${'é'.repeat(word.length / 3)}`)
        : longer(text as object),
    ]),
  ) as T
}

/** A page shows the view itself, so that a test reaches every screen in every language. */
export async function loadGallery(page: Page): Promise<void> {
  const { outputFiles } = await build({
    absWorkingDir: fileURLToPath(new URL('..', import.meta.url)),
    stdin: { contents: GALLERY, resolveDir: fileURLToPath(new URL('..', import.meta.url)) },
    bundle: true,
    write: false,
    format: 'iife',
    conditions: ['@bonded/source'],
  })
  await page.evaluate(outputFiles[0]!.text)
}

const GALLERY = `
import { plain } from './src/screen.ts'
import { sharedStyles } from './src/view/sheet.ts'
import { STYLES } from './src/view/styles/styles.ts'
import { fitIn } from './src/container/fit.ts'
import { encodeQr } from '@bonded/contract'
import { openView } from './src/view/view.ts'
import { confirmButton } from './src/browser-proof/button.ts'

sharedStyles().replaceSync(STYLES)

const views = new WeakMap()
const frames = new WeakMap()
const PAYLOAD = 'https://service.example/bond?session_id=sess_' + 'a'.repeat(22) + '&nonce=' + 'b'.repeat(43)

/** Draws a screen and reports what sticks out of its box, and what is drawn over something else. */
globalThis.draw = (container, { tag, messages, proof, name, pairs = [], hasContact = true, hasCode = true }) => {
  if (!views.has(container)) {
    views.set(container, openView(container, { look: [], handlers: { cancel() {}, retry() {} } }))
    views.get(container).equip({ fitIn, encodeQr })
  }
  const view = views.get(container)
  const until = performance.now() + 299_000
  const code = { payload: PAYLOAD, link: 'https://service.example/', rotatesAt: until, expiresAt: until }
  const busy = ['waiting', 'scanned', 'evaluating', 'step_up', 'browser', 'browser_again', 'browser_frame'].includes(name)
  view.speak({ tag, messages })
  view.identify({ name: 'Kestrel Bank', logo: null })
  view.compare(pairs)
  const isFrame = name === 'browser_frame'
  if (isFrame && !frames.has(container)) {
    const frame = document.createElement('iframe')
    frame.title = 'Confirm'
    frames.set(container, frame)
  }
  const text = proof?.[isFrame ? 'browser' : name]
  const ofProof = text && {
    name: busy ? name : 'not_set_up',
    text,
    stage: isFrame ? frames.get(container) : busy ? confirmButton(proof, () => {}) : undefined,
  }
  view.show({ ...plain(name), ...ofProof, code: name === 'waiting' && hasCode ? code : null, expiresAt: busy ? until : null, hasContact })
  const card = container.shadowRoot.querySelector('.card')
  const outer = card.getBoundingClientRect()
  const out = [...card.querySelectorAll('*')].filter((part) => {
    const { left, right, top, bottom } = part.getBoundingClientRect()
    return part.checkVisibility() && getComputedStyle(part).position !== 'absolute' && !part.closest('svg') &&
      (left < outer.left - 1 || right > outer.right + 1 || top < outer.top - 1 || bottom > outer.bottom + 1)
  })
  const seen = (selector) => [...card.querySelectorAll(selector)].filter((part) =>
    part.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !part.closest('.rest') &&
    ![...card.querySelectorAll('*')].some((each) => each.contains(part) && getComputedStyle(each).clipPath !== 'none'))
  const over = seen('.stage > *').flatMap((stage) => {
    const { left, right, top, bottom } = stage.getBoundingClientRect()
    return seen('.title, .body, .brand bdi, .pairs, .foot > *').filter((part) => {
      const box = part.getBoundingClientRect()
      return box.left < right - 1 && box.right > left + 1 && box.top < bottom - 1 && box.bottom > top + 1
    })
  })
  const outside = seen('.foot > *').filter((part) => {
    const { left, right } = part.getBoundingClientRect()
    return left < outer.left + 6 || right > outer.right - 6
  })
  const named = (parts, what) => parts.map((part) => (part.className || part.role || part.tagName) + what)
  return [...(view.isCut() ? ['the card is cut'] : []), ...named(out, ''), ...named(over, ' over the stage'),
    ...named(outside, ' at the edge')]
}
`
