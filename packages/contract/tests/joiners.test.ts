import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JOINED_NAMES } from '../../../tests/harness/joined-names.ts'
import { areLabelsDistinct, isDisplayText, sanitizeDisplayText } from '../src/index.ts'

const ZWNJ = '\u200c'
const ZWJ = '\u200d'

test('accepts the joiners and variation selectors of names in every script that has them', () => {
  for (const text of [
    ...JOINED_NAMES.map(([, name]) => name),
    `سه${ZWNJ}شنبه`,
    `بانک${ZWNJ}های ایران`,
    `پس${ZWNJ}فردا`,
    `آینده${ZWNJ}نگر`,
    `क्${ZWJ}ष`,
    `क्${ZWNJ}ष`,
    `র${ZWJ}্যাম`,
    `ന്${ZWJ}റെ`,
    `ශ්${ZWJ}රී ලංකා`,
    // RFC 5892 asks for no letter after a virama: Malayalam and Bengali words end in a joiner.
    `क्${ZWNJ}`,
    `क्${ZWJ} ष`,
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
    `क${ZWNJ}ष`,
    `سه${ZWNJ}${ZWNJ}شنبه`,
    `سه${ZWJ}شنبه`,
    // A variation selector without a base that has variants.
    '12\ufe0f500',
    'Pay\ufe0fPal',
    '辻\u{e0100}\u{e0101}',
    '👨\u200dPal',
  ]) {
    assert.equal(isDisplayText(text), false, JSON.stringify(text))
    assert.equal(isDisplayText(sanitizeDisplayText(text)), true)
  }
})

test('labels that differ in a joiner or a variation selector only are not distinct', () => {
  for (const labels of [
    ['سه\u200cشنبه', 'سهشنبه'],
    ['辻\u{e0100}', '辻'],
    ['Love ❤\ufe0f', 'Love ❤'],
    // Every one of them, not only the first.
    ['آینده\u200cنگر سه\u200cشنبه', 'آیندهنگر سهشنبه'],
    ['辻\u{e0100}辻\u{e0101}', '辻辻'],
    ['❤\ufe0f\u200d🔥', '❤🔥'],
  ])
    assert.equal(areLabelsDistinct(labels.map((label) => ({ label }))), false)
})
