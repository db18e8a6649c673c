import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { loadPulseScript } from '../build/bundle.ts'
import { browserTest, Harness, init, noBrowser, outcome, require } from './harness.ts'

let h: Harness
before(async () => {
  if (!noBrowser) h = await Harness.start()
})
after(async () => h?.[Symbol.asyncDispose]())

test('says in the container that the page needs a newer browser', browserTest, async () => {
  const page = await h.open({
    locale: 'fr-FR',
    body: '<div data-pulse-widget lang="fr"></div>',
    files: {
      '/old.js': 'delete globalThis.CompressionStream; delete Element.prototype.attachShadow',
    },
    scripts: ['/old.js', `${h.worker.origin}/v1/pulse.js`]
      .map((src) => `<script src="${src}"></script>`)
      .join(''),
  })
  await init(page)
  await require(page)
  assert.deepEqual(await outcome(page), {
    state: 'unavailable',
    sessionId: null,
    reason: 'browser_too_old',
  })
  await page.getByText('Cette page nécessite un navigateur plus récent. Mettez').waitFor()
  assert.equal(h.sessions.length, 0)
})

test('the script has no syntax that browsers of 2020 cannot read', async () => {
  const { source } = await loadPulseScript()
  assert.doesNotMatch(source, /static\{|#\w+\s*[=;(]\s*\w|\?\?=|\|\|=|&&=/)
})
