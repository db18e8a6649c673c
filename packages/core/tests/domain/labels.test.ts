import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findLabelProblem } from '../../src/domain/labels.ts'
import { isHighlyRestrictive, lookAlike } from '../../src/domain/lookalikes.ts'
import { RESERVED_LABELS } from '../../src/domain/reserved-labels.ts'
import { nameProblems } from '../../src/operations/admin/tenants.ts'
import { reservedLabels } from '../../../../scripts/reserved-labels.ts'

const problemOf = (...labels: string[]) => findLabelProblem(labels.map((label) => ({ label })))

test('rejects labels that look like one another', () => {
  for (const label of [
    'Amount',
    'amount',
    'AMOUNT',
    ' Amount ',
    'Amount:',
    'Amount.',
    '(Amount)',
    'A mount',
    'Ａmount',
    '𝐀𝐦𝐨𝐮𝐧𝐭',
    'Arnount',
    'Amoùnt'.normalize('NFD').replace('\u0300', ''),
  ])
    assert.deepEqual(problemOf('Amount', label), {
      param: 'context.display.1.label',
      detail: 'The label looks like another label of this context.',
    })
  assert.notEqual(problemOf('Total', 'TotaI'), undefined)
  assert.notEqual(problemOf('Line 1', 'Line l'), undefined)
  assert.notEqual(problemOf('сору', 'copy'), undefined, 'a whole word of Cyrillic letters')
  assert.equal(problemOf('Amount', 'To', 'Total amount', 'Line 1', 'Line 2', '€', '¥'), undefined)
})

/** Latin letters that are in no alphabet of CLDR: small capitals, phonetic and archaic ones. */
const OF_NO_LANGUAGE = ['ʙᴀɴᴋ', 'Hᴀʀʙᴏᴜʀ Bank', 'ꜱᴛᴀᴛᴇ', 'ɡoogle', 'pɑypɑl', 'ᵽay', 'Ꝑay', 'Ƿay']

test('rejects a word that mixes scripts, or has letters that are not in general use', () => {
  const mixed = ['Аmount', 'Amоunt', 'Payee аmount', 'Αmount', 'ᎪᎷᎾᏌᏁᎢ', 'Amᴑuntⲟ', '𐌀mount']
  for (const label of [...mixed, ...OF_NO_LANGUAGE])
    assert.deepEqual(problemOf(label), {
      param: 'context.display.0.label',
      detail: 'A word of the label mixes scripts, or has letters that are not in general use.',
    })
})

test('a tenant has no name with letters of no language', () => {
  for (const name of OF_NO_LANGUAGE)
    assert.deepEqual(
      nameProblems(name).map(({ path }) => path),
      [['name']],
      name,
    )
  // A word of two scripts may be a name, and is compared with those of the other tenants.
  assert.deepEqual(nameProblems('ЮMoney'), [])
})

test('accepts the names that organizations have in the alphabets of all languages', () => {
  for (const name of [
    'Yıldız Bankası, İSTANBUL',
    'Łódź',
    'S.à r.l.',
    'Đặng Thị Ngọc',
    'Ærø',
    'Þórr Ðan',
    'ƏCNƏBİ Əliyev',
    'Ŋdi',
    'Hawaiʻi',
    'O’Brien & Söhne, GROẞE STRAẞE',
    'Ƙasar Ɓagwai, ɗan kasuwa',
    'Ɛʋegbe, Ŋutsu la ƒle',
    'Ŧiŋ, Ǥiõll, Ɲɔgɔn',
    'Enkɨtɔk, Nʉmba; Ǝmɛ; Kǝlɩ; Ʊlʊ',
    'ŒUVRE, cœur',
    'Ẹ\u0301gbẹ\u0301, Olúwas\u0323eun',
    'ǁKaras, ǃNamiǂNûs',
    'Nº 3, 2ª via, 25 m², 5 µm, Coca-Cola™',
    'ＢＡＮＫ銀行',
  ])
    assert.ok(isHighlyRestrictive(name) && nameProblems(name).length === 0, name)
})

test('accepts the labels that banks write in the scripts of all languages', () => {
  for (const label of [
    'Amount',
    'Überweisungsbetrag',
    'Montant à payer',
    'Số tiền',
    'Сумма',
    'IBAN получателя',
    'PIN-код',
    'SMS-код',
    'Ποσό',
    'IBAN δικαιούχου',
    'المبلغ',
    'رقم IBAN',
    'סכום',
    'राशि',
    'จำนวนเงิน',
    '金额',
    '金額（円）',
    'お支払い金額',
    'カード番号',
    'ＡＴＭ手数料',
    'Tシャツ',
    '금액',
    'IBAN번호',
    '№ 5',
    'Fee (1.5 %)',
    '€',
  ])
    assert.equal(problemOf(label), undefined, label)
})

test('names the reserved label that a label looks like, in the language of the phone', () => {
  for (const [label, own] of [
    ['purpose:', 'Purpose'],
    ['هدف', 'هدف'],
  ] as const)
    assert.equal(
      problemOf(label)?.detail,
      `The label looks like "${own}", which is a reserved label: phones show it themselves.`,
    )
})

test('reserves the labels of the phones in every language, and what looks like them', () => {
  for (const label of RESERVED_LABELS) assert.notEqual(problemOf(label), undefined, label)
  for (const label of [
    'purpose',
    'PURPOSE',
    'Purpose:',
    'Рагpose',
    'Pаge',
    'Page ',
    'ZWECK',
    'Seite',
  ])
    assert.notEqual(problemOf(label), undefined, label)
  assert.ok(RESERVED_LABELS.includes('Purpose') && RESERVED_LABELS.includes('Zweck'))
  assert.ok(RESERVED_LABELS.length > 60)
  assert.equal(problemOf('Amount', 'Term', 'Applicant', 'Purpose of the loan'), undefined)
})

test('the reserved labels are those of the language files', () => {
  for (const label of RESERVED_LABELS)
    assert.ok(reservedLabels().includes(label.replaceAll("'", "\\'")), label)
})

test('no two labels of one phone look alike', () => {
  const alike = RESERVED_LABELS.flatMap((one, index) =>
    RESERVED_LABELS.slice(index + 1)
      .filter((other) => one.toLowerCase() !== other.toLowerCase() && lookAlike(one, other))
      .map((other) => `${one} / ${other}`),
  )
  assert.deepEqual(
    alike.filter((pair) => /Purpose|Page/.test(pair)),
    [],
  )
})

test('a text without letters is at every level', () => {
  for (const text of ['', ' ', '12', '€ 12,00', '😀', '→'])
    assert.equal(isHighlyRestrictive(text), true, text)
})

test('the cache of labels is bounded, and answers as the first time', () => {
  for (let index = 0; index < 3_000; index++) problemOf(`Label ${index}`)
  assert.notEqual(problemOf('Purpose'), undefined)
  assert.equal(problemOf('Label 1'), undefined)
})

test('a joiner neither hides that labels look alike nor splits a word that mixes scripts', () => {
  assert.notEqual(problemOf('سه\u200cشنبه', 'سهشنبه'), undefined)
  assert.equal(lookAlike('بانک\u200cملی', 'بانکملی'), true)
  assert.equal(isHighlyRestrictive('क्\u200cAmount'), false)
  assert.equal(isHighlyRestrictive('क्\u200cष'), true)
})
