import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CONFUSABLES } from '../../../core/src/domain/confusables-table.ts'
import { contextOf } from '../../src/approval/approved-context.ts'
import { escapeLookalikes } from '../../src/approval/lookalikes.ts'
import { requestText } from '../../src/approval/request-text.ts'
import { HONEST_TEXTS } from './honest-texts.ts'

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

/** Each text that imitates another one, and what the user reads, written by hand. */
for (const [given, written] of [
  // Addresses, of one script or of several.
  ['billing@раураӏ.com', String.raw`billing@\u0440\u0430\u0443\u0440\u0430\u04cf.com`],
  ['раураӏ.com', String.raw`\u0440\u0430\u0443\u0440\u0430\u04cf.com`],
  ['(РАУРАL.COM).', String.raw`(\u0420\u0410\u0423\u0420\u0410L.COM).`],
  ['https://bank.test∕pay.evil.test', String.raw`https://bank.test\u2215pay.evil.test`],
  ['https:∕∕bank.test', String.raw`https:\u2215\u2215bank.test`],
  ['https://bank.testノpay.evil.test', String.raw`https://bank.test\u30cepay.evil.test`],
  ['https://bank.testﾉpay.evil.test', String.raw`https://bank.test\uff89pay.evil.test`],
  ['pay＠bank.test', String.raw`pay\uff20bank.test`],
  ['paypal․com', String.raw`paypal\u2024com`],
  ['paypal。com', String.raw`paypal\u3002com`],
  ['付款至раураӏ.com。', String.raw`付款至\u0440\u0430\u0443\u0440\u0430\u04cf.com。`],
  ['“раураӏ.com”', String.raw`“\u0440\u0430\u0443\u0440\u0430\u04cf.com”`],
  ['Оплата на раураӏ.com', String.raw`Оплата на \u0440\u0430\u0443\u0440\u0430\u04cf.com`],
  ['раураӏ.соm', String.raw`\u0440\u0430\u0443\u0440\u0430\u04cf.\u0441\u043em`],
  ['пример.рф', String.raw`\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444`],
  ['ада@пример', String.raw`\u0430\u0434\u0430@\u043f\u0440\u0438\u043c\u0435\u0440`],
  ['ada@exampⅼe.com', String.raw`ada@examp\u217ce.com`],
  ['bank‐pay.com', String.raw`bank\u2010pay.com`],
  ['ada@bank’s.com', String.raw`ada@bank\u2019s.com`],
  ['pay\u0131.com', String.raw`pay\u0131.com`],
  // An IBAN, in groups and not, also in a line of Cyrillic.
  ['ВЕ71 0961 2345 6769', String.raw`\u0412\u041571 0961 2345 6769`],
  ['ВЕ71096123456769', String.raw`\u0412\u041571096123456769`],
  ['Счёт GВ29 NWВК 6016 1331 9268 19', String.raw`Счёт G\u041229 NW\u0412\u041a 6016 1331 9268 19`],
  // A word of a Latin line.
  ['Pay раураӏ now', String.raw`Pay \u0440\u0430\u0443\u0440\u0430\u04cf now`],
  [
    'Pay раураӏ and аррӏе',
    String.raw`Pay \u0440\u0430\u0443\u0440\u0430\u04cf and \u0430\u0440\u0440\u04cf\u0435`,
  ],
  ['Pay ᏢᎪYᏢᎪᏞ', String.raw`Pay \u13e2\u13aaY\u13e2\u13aa\u13de`],
  ['Pay ꓑꓮꓬꓑꓮꓡ', String.raw`Pay \ua4d1\ua4ee\ua4ec\ua4d1\ua4ee\ua4e1`],
  ['pɑypɑl', String.raw`p\u0251yp\u0251l`],
  ['pаypal', String.raw`p\u0430ypal`],
  ['e×ample', String.raw`e\u00d7ample`],
  // Compatibility forms, and punctuation.
  ['ｐａｙｐａｌ', String.raw`\uff50\uff41\uff59\uff50\uff41\uff4c`],
  ['𝐩𝐚𝐲', String.raw`\ud835\udc29\ud835\udc1a\ud835\udc32`],
  ['ﬁne', String.raw`\ufb01ne`],
  ['Ⅳ', String.raw`\u2163`],
  ['a\ua789 b', String.raw`a\ua789 b`],
  ['1\u204400', String.raw`1\u204400`],
  ['yes\u01c3', String.raw`yes\u01c3`],
  // Blanks that draw columns, or a row of their own.
  ['Ada    "amount": 5', String.raw`Ada \u0020\u0020\u0020\"amount\": 5`],
  ['Ada\u3000\u3000x', String.raw`Ada\u3000\u3000x`],
] as const)
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
