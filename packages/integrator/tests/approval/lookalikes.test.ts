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

/** Letters and marks of CLDR's languages that a Latin word or a sentence has. A user reads them. */
const IN_WORDS = new Set('ıæþœÆŒƁƊƘƠơƳ\u00aa\u00ba\u00b2\u00b3\u02bb\u02bc')
const IN_SENTENCES = new Set(
  '\u00a0\u2010\u2011\u2013\u2018\u2019\u201a\u201c\u201d\u201f\u2026\u202f\u2032\u2033\u2039\u203a\u2212',
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
