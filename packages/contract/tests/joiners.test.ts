import assert from 'node:assert/strict'
import { test } from 'node:test'
import { areLabelsDistinct, isDisplayText, sanitizeDisplayText } from '../src/index.ts'

const ZWNJ = '\u200c'
const ZWJ = '\u200d'

test('accepts the joiners of Persian, Hindi, Bengali, Malayalam and Sinhala words', () => {
  for (const text of [
    `سه${ZWNJ}شنبه`,
    `بانک${ZWNJ}های ایران`,
    `پس${ZWNJ}فردا`,
    `آینده${ZWNJ}نگر`,
    `क्${ZWJ}ष`,
    `क्${ZWNJ}ष`,
    `র‍্যাম`.replace(ZWJ, ''),
    `ന്${ZWJ}റെ`,
    `ශ්${ZWJ}රී ලංකා`,
  ]) {
    assert.equal(isDisplayText(text), true, JSON.stringify(text))
    assert.equal(sanitizeDisplayText(text), text)
  }
})

// A joiner without an effect is a hidden character: two texts would read alike.
test('rejects a joiner that changes no glyph', () => {
  for (const text of [
    `Pay${ZWNJ}Pal`,
    `Pay${ZWJ}Pal`,
    `12${ZWNJ}500`,
    `סכ${ZWNJ}ום`,
    // After a letter that does not join, and at both ends of a word.
    `کار${ZWNJ}ها`,
    `بانک${ZWNJ}`,
    `${ZWNJ}بانک`,
    `بانک${ZWNJ} ملی`,
    `بانک${ZWNJ}Pay`,
    `क्${ZWNJ}`,
    `क्${ZWJ} ष`,
    `क${ZWNJ}ष`,
    `سه${ZWNJ}${ZWNJ}شنبه`,
    `سه${ZWJ}شنبه`,
    '👨\u200d👩\u200d👧',
  ]) {
    assert.equal(isDisplayText(text), false, JSON.stringify(text))
    assert.equal(isDisplayText(sanitizeDisplayText(text)), true)
  }
})

test('labels that differ in a joiner only are not distinct', () => {
  const display = ['سه\u200cشنبه', 'سهشنبه'].map((label) => ({ label }))
  assert.equal(areLabelsDistinct(display), false)
})
