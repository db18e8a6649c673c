import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../tests/random.ts'
import { describeRequest, purposeOf, requestOf } from '../src/index.ts'
import { fakeService } from './fake-service.ts'

const session = fakeService().session

test('describes the tenant, the page that the browser reports, and the context', () => {
  assert.equal(
    describeRequest(session),
    [
      'Example Bank asks for your approval.',
      '  Page:    https://bank.example (reported by the browser)',
      '  Amount:  € 12,500.00',
      '  To:      Café Ünïcode ✓',
      'Approve only if you started this yourself, just now, on that page.',
    ].join('\n'),
  )
})

test('keeps a long value beside its label, so that a terminal draws no row of it', () => {
  const value = `${'x'.repeat(66)}Amount:  € 12.00 ${'漢'.repeat(60)}`
  const display = [{ label: 'Payee', value: value.slice(0, 160) }]
  const lines = describeRequest({ ...session, context: { display } }).split('\n')
  const rows = lines.slice(1, -1).filter((line) => /^ {2}\S/.test(line))
  assert.deepEqual(
    rows.map((line) => line.slice(0, 9)),
    ['  Page:  ', '  Payee: '],
  )
  for (const line of lines.slice(1, -1)) {
    assert.match(line, /^ {2}(?:\S+:| +│ )/)
    const columns = Array.from(line).map((character) => (character === '漢' ? 2 : 1))
    assert.ok(columns.reduce<number>((sum, width) => sum + width, 0) <= 80, line)
  }
})

test('writes directional marks for a terminal as escapes, because it isolates nothing', () => {
  const display = [{ label: 'סכום', value: '\u200f12 ₪' }]
  assert.match(describeRequest({ ...session, context: { display } }), /סכום: +\\u\{200f\}12 ₪/)
})

test('describes the requester first, and each line of the text with its number', () => {
  const requester = { kind: 'agent' as const, name: 'Invoice agent', detail: 'runs on CI' }
  const display = [{ label: 'Amount', value: '€ 12' }]
  const text = `{\n  "amount": 12,\n  "note": "${'x'.repeat(80)}"\n}`
  const lines = describeRequest({ ...session, context: { requester, display, text } }).split('\n')
  assert.deepEqual(lines.slice(1, 7), [
    '  Requester:  agent: Invoice agent – runs on CI',
    '  Page:       https://bank.example (reported by the browser)',
    '  Amount:     € 12',
    '           1  {',
    '           2    "amount": 12,',
    `           3    "note": "${'x'.repeat(53)}`,
  ])
  assert.match(lines[7] ?? '', /^ +│ x+"$/)
})

test('shows a text verbatim, and replaces what could hide or reorder a part of it', () => {
  const shown = (text: string) => requestOf({ ...session, context: { display: [], text } }).text
  assert.equal(shown('{\n  "a":   1\n}'), '{\n  "a":   1\n}')
  assert.equal(shown('a\r\nb\u202ec\u2066d\t'), 'a\ufffd\nb\ufffdc\ufffdd\ufffd')
  assert.equal(requestOf(session).text, null)
})

test('says how many people must approve, in the numbers that it signs', () => {
  const quorum = { id: `quo_${'0'.repeat(22)}` as const, needed: 2, of: 3 }
  const asked = { ...session, context: { display: [], quorum } }
  assert.deepEqual(requestOf(asked).quorum, { needed: 2, of: 3 })
  const lines = describeRequest(asked).split('\n')
  assert.deepEqual(lines.slice(-2), [
    '2 of 3 people must approve. You are one of them.',
    'Approve only if you started this yourself, just now, on that page.',
  ])
  assert.equal(requestOf(session).quorum, null)
})

test('describes the page as not known until one presents the watch token', () => {
  const bare = describeRequest({
    ...session,
    requesting_origin: null,
    workflow: null,
    action: null,
    context: null,
  })
  assert.match(bare, /Page: {2}not known/)
  assert.match(bare, /\nApprove only if you expect this request and agree with every detail\.$/)
  assert.doesNotMatch(bare, /Purpose/)
})

test('replaces characters of a request that move the cursor, break lines or reorder text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const shown = requestOf({
        ...session,
        tenant_name: text,
        context: { display: [{ label: text, value: `\u001b[2J\n\u202e${text}` }] },
      })
      const all = JSON.stringify([shown.tenant_name, shown.display]).replaceAll('\\\\', '')
      assert.doesNotMatch(all, /\\u00|\\[nrtbf]|[\u0080-\u009f\u200b-\u200f\u2028-\u202e]/)
      assert.doesNotMatch(all, /\p{Default_Ignorable_Code_Point}/u)
    }),
  )
})

test('names the purpose by titles, and by machine names only without any other words', () => {
  const request = {
    workflow: 'wire-transfer',
    action: 'approve_wire',
    workflow_title: { de: 'Überweisung', en: 'Wire transfer', 'pt-BR': 'Transferência' },
    action_title: { fr: 'Approuver' },
    display: [{ label: 'Amount', value: '€ 1.00' }],
  }
  for (const [languages, expected] of [
    [['de-AT', 'en'], 'Überweisung · Approuver'],
    [['pt'], 'Transferência · Approuver'],
    [['ja'], 'Wire transfer · Approuver'],
    [[], 'Wire transfer · Approuver'],
  ] as const)
    assert.equal(purposeOf(request, languages), expected)
  const untitled = { ...request, workflow_title: null, action_title: null }
  assert.equal(purposeOf(untitled, ['en']), null)
  assert.equal(purposeOf({ ...untitled, display: [] }, ['en']), 'wire transfer · approve wire')
  const nothing = { ...untitled, display: [], workflow: null, action: null }
  assert.equal(purposeOf(nothing, ['en']), null)
})
