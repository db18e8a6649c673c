import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAmount } from '../src/amount.ts'

/** The languages of the phone page. */
const LANGUAGES =
  'ar bg cs da de el en es et fa fi fr ga he hi hr hu is it ja ko lt lv mt nb nl pl pt ro sk sl sq sr sv th tr uk ur vi zh'

test('knows an amount as `Intl` writes it in every language', () => {
  for (const tag of LANGUAGES.split(' '))
    for (const currency of ['EUR', 'USD', 'GBP', 'CHF', 'SEK', 'PLN', 'CZK', 'INR', 'JPY', 'AED']) {
      const amount = new Intl.NumberFormat(tag, { style: 'currency', currency }).format(-12_500.5)
      assert.ok(isAmount(amount), `${tag} ${amount}`)
    }
})

test('knows no amount in a text, a date, a number or a quantity', () => {
  for (const value of [
    'Ada Lovelace',
    '12500',
    '14 November 2026',
    '12 days',
    'Flat 4B',
    'DE89370400440532013000',
    '€',
    'USD',
    '€1,000.00 and then €9,000.00',
    '€ 1'.padEnd(40, '0'),
  ])
    assert.equal(isAmount(value), false, value)
})
