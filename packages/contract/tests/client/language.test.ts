import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchLanguage } from '../../src/client/language.ts'

const AVAILABLE = ['en', 'de', 'he', 'id', 'no', 'pt', 'pt-PT', 'ro', 'sr', 'uk', 'zh']

test('matches a language by its script, also by its old codes', () => {
  for (const [wanted, found] of [
    ['de-AT', 'de'],
    ['DE', 'de'],
    ['de-Latn-CH-1996', 'de'],
    ['de_AT', 'de'],
    ['iw-IL', 'he'],
    ['in', 'id'],
    ['mo', 'ro'],
    ['nb-NO', 'no'],
    ['nn', 'no'],
    ['no', 'no'],
    ['pt-BR', 'pt'],
    ['pt-PT', 'pt-PT'],
    ['pt-AO', 'pt'],
    ['sr-RS', 'sr'],
    ['sr-Cyrl-ME', 'sr'],
    ['sr-Latn', undefined],
    ['sr-ME', undefined],
    ['sh', undefined],
    ['zh', 'zh'],
    ['zh-SG', 'zh'],
    ['zh-Hans-HK', 'zh'],
    ['zh-TW', undefined],
    ['zh-HK', undefined],
    ['zh-Hant', undefined],
    ['cmn-Hans', 'zh'],
    ['uk-Latn', undefined],
    ['xx', undefined],
    ['', undefined],
    ['*', undefined],
    ['constructor', undefined],
  ] as const)
    assert.equal(matchLanguage([wanted], AVAILABLE), found, wanted)
  assert.equal(matchLanguage(['zh-TW', 'uk', 'de'], AVAILABLE), 'uk')
  assert.equal(matchLanguage(['zh-HK'], ['zh', 'zh-Hant']), 'zh-Hant')
  assert.equal(matchLanguage(['nb'], ['nb']), 'nb')
  assert.equal(matchLanguage(['de'], []), undefined)
})

test('matches by the language alone in an engine without locales', (t) => {
  const { Locale } = Intl
  t.after(() => Object.assign(Intl, { Locale }))
  Reflect.deleteProperty(Intl, 'Locale')
  assert.equal(matchLanguage(['xx', 'de-AT'], ['en', 'de']), 'de')
  assert.equal(matchLanguage(['nn', 'no-NO'], ['no']), 'no')
})
