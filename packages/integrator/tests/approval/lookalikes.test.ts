import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CONFUSABLES } from '../../../core/src/domain/confusables-table.ts'
import { contextOf } from '../../src/approval/approved-context.ts'
import { escapeLookalikes } from '../../src/approval/lookalikes.ts'
import { requestText } from '../../src/approval/request-text.ts'
import { HONEST_TEXTS } from './honest-texts.ts'
import { ATTACKS } from './lookalike-attacks.ts'

const textOf = (value: string) => requestText({ note: value })
const unescaped = (text: string) => (JSON.parse(text) as { note: string }).note

test('leaves what people of 40 languages write as it is', () => {
  assert.equal(Object.keys(HONEST_TEXTS).filter((tag) => tag.length === 2).length, 40)
  for (const [language, texts] of Object.entries(HONEST_TEXTS))
    for (const text of [...texts, texts.join(' ')]) {
      assert.equal(textOf(text), `{\n  "note": "${text}"\n}`, language)
      assert.equal(escapeLookalikes(`${texts[0]}\n${text}`), `${texts[0]}\n${text}`, language)
    }
})

for (const [given, written] of ATTACKS)
  test(`escapes what imitates other text: ${given}`, () => {
    const text = textOf(given)
    assert.equal(text, `{\n  "note": "${written}"\n}`)
    assert.equal(unescaped(text), given)
  })

test('escapes a word of a list, where no key is beside it', () => {
  const text = requestText({ to: ['раураӏ', 'ΙΒΜ', 'сор'] })
  assert.deepEqual(text.match(/(?<=^ {4}").*(?=")/gm), [
    String.raw`\u0440\u0430\u0443\u0440\u0430\u04cf`,
    String.raw`\u0399\u0392\u039c`,
    'сор',
  ])
})

/** Letters and marks of CLDR's languages that a Latin word or a sentence has. A user reads them. */
const IN_WORDS = new Set('ıæþœÆŒƁƊƘƠơƳ\u00aa\u00ba\u00b2\u00b3\u02bb\u02bc')
const IN_SENTENCES = new Set(
  '\u00a0\u2013\u2018\u2019\u201a\u201c\u201d\u201f\u2026\u202f\u2032\u2033\u2039\u203a',
)

test('escapes every code point that looks like ASCII, in an address and in a Latin word', () => {
  const code = (codes: string) =>
    String.fromCodePoint(...codes.split('+').map((one) => Number.parseInt(one, 16)))
  const alike = CONFUSABLES.trim()
    .split(/\s/)
    .flatMap((record) => {
      const [target = '', sources = ''] = record.split(':')
      return /^[ -~]+$/.test(code(target)) ? sources.split(',').map(code) : []
    })
    .filter((one) => one > '~')
  assert.ok(alike.length > 1_800)
  const shownIn = (template: string) =>
    alike.filter((one) => textOf(template.replace('%', () => one)).includes(one))
  const isBlankOrQuote = (one: string) => /[\s\p{Pi}\p{Pf}]/u.test(one)
  // A blank or a quote ends the address, and is drawn as one.
  for (const address of ['https://bank.test%pay.evil.test', 'billing@pa%pal.com', 'pa%pal.com'])
    assert.deepEqual(
      shownIn(address).filter((one) => !isBlankOrQuote(one)),
      [],
      address,
    )
  const inWord = shownIn('Pay bi%lling now')
  assert.deepEqual(
    inWord.filter((one) => !IN_WORDS.has(one) && !IN_SENTENCES.has(one)),
    [],
  )
})

/** All characters of a kind, above ASCII. */
function charactersOf(kind: RegExp): string[] {
  const all = Array.from({ length: 0x1_f000 }, (_, code) => code + 0x80)
  return all
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code))
    .filter((one) => kind.test(one))
}

/** Which characters of a kind are shown in a template. */
const shown = (kind: RegExp, template: string) =>
  charactersOf(kind).filter((one) => textOf(template.replaceAll('%', () => one)).includes(one))

test('escapes every mark on a letter except the accents of Unicode, and every mark on a sign', () => {
  const letters = charactersOf(/[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}]/u).join('')
  // Taiwanese has the first two, and the others are of Greek.
  const accents = new Set(`${letters.normalize('NFD')}\u030d\u0358\u0343\u0344`)
  const onLetters = shown(/[\p{Mn}\p{Me}]/u, 'Pay ba%nk')
  assert.deepEqual(
    onLetters.filter((one) => !accents.has(one)),
    [],
  )
  for (const template of ['1%0', '1%', 'a.%b', '-%', 'a %b', '“%'])
    assert.deepEqual(shown(/(?!\p{VS})[\p{Mn}\p{Me}]/u, template), [], template)
  for (const letter of ['i', 'j', ...charactersOf(/\p{Soft_Dotted}/u)])
    for (const marks of ['\u0307', '\u0323\u0307'])
      assert.ok(!textOf(`a${letter}${marks}b`).includes('\u0307'), letter)
})

test('escapes every punctuation mark and bullet that separates digits or a label', () => {
  // An ellipsis, per mille signs, and primes.
  const apart = ['\u2026', '\u2030', '\u2031', '\u2032', '\u2033']
  const bullets = /(?![\uff00-\uff1f])\p{Po}|[\u25a0-\u25ff\u2b24\u26aa\u26ab]/u
  for (const template of ['paypal%com', 'PAYPAL%COM', '1%500', '1%500,00 EUR'])
    assert.deepEqual(shown(bullets, template), apart, template)
})

test('escapes every quotation mark that draws a member', () => {
  for (const template of ['Ada%, %iban%: %x', '%iban%: %x', 'Ada%, %cents%: 5', 'Ada% ,%iban% :%x'])
    assert.deepEqual(shown(/[\p{Pi}\p{Pf}]/u, template), [], template)
})

test('escapes the digits of every script in a group of a number', () => {
  for (const template of ['DE89 %%%% 0044 0532 0130 00', 'BE71 0961 2345 %%%%', '1 %%% EUR'])
    assert.deepEqual(shown(/\p{Nd}/u, template), [], template)
})

test('applies the rule to pairs and to the detail of a requester', async () => {
  const { context } = await contextOf(
    {
      action: 'pay',
      version: '1',
      describe: () => [
        { label: 'Payee', value: 'billing@раураӏ.com' },
        { label: 'Получатель', value: 'Вера' },
      ],
    },
    {},
    { requester: { kind: 'agent', name: 'Agent', detail: 'of раураӏ.com' } },
  )
  const escaped = String.raw`\u0440\u0430\u0443\u0440\u0430\u04cf.com`
  assert.deepEqual(context.display, [
    { label: 'Payee', value: `billing@${escaped}` },
    { label: 'Получатель', value: 'Вера' },
  ])
  assert.equal(context.requester.detail, `of ${escaped}`)
})
