import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { directionOf } from '@bonded/contract'
import { browserMissing } from '../../../tests/browser.ts'
import inboxOnly from '../src/inbox/en.json' with { type: 'json' }
import { inboxEn } from '../src/inbox/messages.ts'
import { en } from '../src/messages/en.ts'
import { chooseLanguage, LANGUAGES } from '../src/messages/language.ts'
import { press, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

const FOLDER = join(import.meta.dirname, '../languages')

const wordsOf = (tag: string) =>
  JSON.parse(readFileSync(join(FOLDER, `${tag}.json`), 'utf8')) as Record<string, string>
const inboxWords = JSON.parse(readFileSync(join(FOLDER, '../inbox-words.json'), 'utf8')) as Record<
  string,
  Record<string, string>
>
const placeholdersOf = (text: string) => (text.match(/\{\w+\}/g) ?? []).toSorted()

test('has a file for each language, and no other', () => {
  const files = readdirSync(FOLDER).map((file) => file.replace(/\.json$/, ''))
  assert.deepEqual(files.toSorted(), LANGUAGES.toSorted())
  assert.deepEqual(Object.keys(inboxWords).toSorted(), LANGUAGES.toSorted())
  assert.equal(LANGUAGES.length, 39)
})

for (const tag of LANGUAGES)
  test(`has every text with its placeholders: ${tag}`, () => {
    const words = wordsOf(tag)
    const ofInbox = inboxWords[tag] ?? {}
    assert.deepEqual(Object.keys(words), Object.keys(en))
    assert.deepEqual(Object.keys(ofInbox), Object.keys(inboxOnly))
    for (const [key, text] of Object.entries(inboxEn)) {
      const translated = words[key] ?? ofInbox[key] ?? ''
      assert.deepEqual(placeholdersOf(translated), placeholdersOf(text), key)
      assert.ok(translated.trim() === translated && translated !== '', key)
      // Controls and marks of direction are the page's business, not the text's.
      assert.doesNotMatch(translated, /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069<>]/u, key)
    }
    // Decline, "wasn't me" and approve must never read alike.
    const choices = ['action.approve', 'action.report', 'action.decline'].map((key) => words[key])
    assert.equal(new Set(choices).size, 3)
  })

test('chooses the first language that the user reads and the page has', () => {
  for (const [wanted, chosen] of [
    [['de-AT', 'en'], 'de'],
    [['nb-NO'], 'no'],
    [['nn'], 'no'],
    [['iw'], 'he'],
    [['pt-BR'], 'pt'],
    [['sr-Latn-RS'], 'en'],
    [['sr-Latn-RS', 'hr'], 'hr'],
    [['zh-CN'], 'zh-Hans'],
    [['zh'], 'zh-Hans'],
    [['zh-TW', 'ja'], 'ja'],
    [['zh-Hant'], 'en'],
    [['sw', 'fr-CA'], 'fr'],
    [['en-GB', 'de'], 'en'],
    [['x', '', '*', 'constructor'], 'en'],
    [[], 'en'],
  ] as const)
    assert.equal(chooseLanguage(wanted), chosen, wanted.join())
})

test('loads one language, and sets it with its direction', {
  skip: browserMissing,
  timeout: 300_000,
}, async () => {
  await using sandbox = await Sandbox.start()
  const { page, context } = await sandbox.phone()
  const devtools = await context.newCDPSession(page)
  const userAgent = await page.evaluate<string>('navigator.userAgent')
  const speak = (acceptLanguage: string) =>
    devtools.send('Emulation.setUserAgentOverride', { userAgent, acceptLanguage })
  let loaded: string[] = []
  page.on('request', (request) => {
    if (request.url().includes('/words-')) loaded.push(request.url())
  })
  const { universal_link } = await sandbox.create()
  for (const tag of ['en', ...LANGUAGES]) {
    const words = tag === 'en' ? en : wordsOf(tag)
    await speak(tag)
    loaded = []
    await page.goto(universal_link)
    await screen(page, 'setup')
    assert.deepEqual(
      await page.evaluate('[document.documentElement.lang, document.documentElement.dir]'),
      [tag, directionOf(tag)],
    )
    const title = words['request.title']?.replace('{tenant}', 'Harbour Bank')
    assert.equal(await page.getByRole('heading').textContent(), title)
    assert.equal(await page.title(), title)
    assert.equal(loaded.length, tag === 'en' ? 0 : 1, tag)
  }

  await speak('ar')
  const ar = wordsOf('ar')
  await page.goto((await sandbox.create()).universal_link)
  await press(page, ar['setup.title'] ?? '')
  await screen(page, 'request')
  assert.equal(
    await page.getByRole('heading').textContent(),
    ar['request.title']?.replace('{tenant}', 'Harbour Bank'),
  )
  await press(page, ar['action.approve'] ?? '')
  await screen(page, 'approved')
})

test('starts in English when the language does not load', {
  skip: browserMissing,
  timeout: 60_000,
}, async () => {
  await using sandbox = await Sandbox.start()
  const { page, context } = await sandbox.phone({}, { locale: 'de' })
  await context.route('**/words-*/*.json', (route) => route.abort())
  await page.goto((await sandbox.create()).universal_link)
  await screen(page, 'setup')
  await page.getByRole('button', { name: en['setup.title'] }).waitFor()
  assert.equal(await page.evaluate('document.documentElement.lang'), 'en')
})
