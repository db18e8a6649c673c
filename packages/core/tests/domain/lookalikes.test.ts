import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { CONFUSABLES } from '../../src/domain/confusables-table.ts'
import {
  isHighlyRestrictive,
  isListed,
  lookAlike,
  lookalikeKeys,
  lookalikeWords,
} from '../../src/domain/lookalikes.ts'

/** A word in each script that UAX 31 recommends (table 5). */
const WORDS: Readonly<Record<string, string>> = {
  Arabic: 'المبلغ',
  Armenian: 'Գումար',
  Bengali: 'পরিমাণ',
  Bopomofo: 'ㄅㄆㄇ',
  Cyrillic: 'Сумма',
  Devanagari: 'राशि',
  Ethiopic: 'መጠን',
  Georgian: 'თანხა',
  Greek: 'Ποσό',
  Gujarati: 'રકમ',
  Gurmukhi: 'ਰਕਮ',
  Han: '金額',
  Hangul: '금액',
  Hebrew: 'סכום',
  Hiragana: 'きんがく',
  Kannada: 'ಮೊತ್ತ',
  Katakana: 'キンガク',
  Khmer: 'ចំនួន',
  Lao: 'ຈຳນວນ',
  Latin: 'Überweisung',
  Malayalam: 'തുക',
  Myanmar: 'ပမာဏ',
  Oriya: 'ରାଶି',
  Sinhala: 'මුදල',
  Tamil: 'தொகை',
  Telugu: 'మొత్తం',
  Thaana: 'އަދަދު',
  Thai: 'จำนวน',
  Tibetan: 'དངུལ',
}

test('a label is in any script that is recommended, and in no other one', () => {
  for (const [script, word] of Object.entries(WORDS))
    assert.ok(isHighlyRestrictive(`IBAN ${word} 1`), script)
  for (const word of ['ᏣᎳᎩ', 'ᚠᚢᚦ', 'ⵣⵣ', 'ᜀᜁ']) assert.ok(!isHighlyRestrictive(word), word)
})

test('a word mixes the scripts that Chinese, Japanese and Korean mix, and no others', () => {
  for (const word of ['A金額', 'A金きキ', 'きキ', 'Aㄅ金', 'A금金', '금金'])
    assert.ok(isHighlyRestrictive(word), word)
  for (const word of ['Aм', 'Aλ', 'きㄅ', '금き', 'ㄅ금', 'мλ', '金м', 'กา'.concat('ລ')])
    assert.ok(!isHighlyRestrictive(word), word)
})

test('the letters of a name are those of languages, with and without accents', () => {
  for (const text of ['Größe', 'Łódź', 'Þór', 'Việt', 'çığ', 'œuvre'])
    assert.ok(isListed(text), text)
  for (const text of ['ʙank', 'ɑmount', 'ꜰoo', 'ᴀ']) assert.ok(!isListed(text), text)
})

test('blanks, signs and case do not tell two labels apart, and other letters do', () => {
  for (const [one, other] of [
    ['Amount', 'a-m o.u_n t'],
    ['paypal', 'pаypаl'],
    ['Bill', 'BiIl'],
    ['rn', 'm'],
    ['0ne', 'One'],
    // A Cyrillic letter that Unicode composes, and one that it decomposes.
    ['Citroën', 'Citroёn'],
    ['Zürich', 'Zu\u0308rich'],
    ['naïve', 'naїve'],
    ['...', '...'],
  ] as const)
    assert.ok(lookAlike(one, other), `${one} ${other}`)
  for (const [one, other] of [
    ['Amount', 'Amounts'],
    ['$', '€'],
    ['...', '!!!'],
    ['a$', 'a'],
  ] as const)
    assert.ok(!lookAlike(one, other), `${one} ${other}`)
  assert.equal(lookalikeKeys('One').length, 2)
})

test('the words of a text have the keys that they have alone', () => {
  const text = 'The Оne, 2nd (bot)!'
  assert.deepEqual(
    lookalikeWords(text),
    ['The', 'Оne', '2nd', 'bot'].map((word) => lookalikeKeys(word)),
  )
  assert.deepEqual(lookalikeWords(' .,! '), [])
})

test('the table of look-alikes is the one that was made from the files of Unicode', () => {
  const pairs = CONFUSABLES.trim()
    .split(/\s+/)
    .flatMap((record) => {
      const [target = '', sources = ''] = record.split(':')
      return sources.split(',').map((source) => `${source} ${target}`)
    })
  // A pair that is lost, or has another character, lets one text pass for another one. A table of
  // a newer Unicode has another digest: `scripts/unicode-tables.ts` makes it.
  const digest = hash('sha256', pairs.toSorted().join('\n'), 'hex')
  assert.deepEqual(
    [pairs.length, new Set(pairs).size, digest.slice(0, 16)],
    [6_565, 6_565, 'cc7ff88d5f132b9f'],
  )
})
