import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CURRENCIES, LANGUAGES, textsIn } from '../../../tests/harness/intl-texts.ts'
import { isDisplayText, isDisplayValue, sanitizeDisplayValue } from '../src/index.ts'

for (const language of LANGUAGES)
  test(`accepts what Intl writes, and shows it unchanged: ${language}`, () => {
    const rejected = [...textsIn(language)].filter(
      (text) => !isDisplayValue(text) || sanitizeDisplayValue(text) !== text,
    )
    assert.deepEqual(rejected, [])
  })

test('accepts the names of currencies, regions and languages as labels', () => {
  for (const language of LANGUAGES)
    for (const [type, codes] of [
      ['currency', CURRENCIES],
      ['region', ['IR', 'IL', 'EG', 'IN', 'BA', 'GB']],
      ['language', ['en', 'he', 'ar', 'fa']],
    ] as const) {
      const names = new Intl.DisplayNames(language, { type })
      for (const code of codes)
        assert.equal(isDisplayText(names.of(code) ?? code), true, `${language} ${code}`)
    }
})
