import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import type { ShownRequest } from '@bonded/phone'
import { en } from '../../src/messages/en.ts'
import { drawPage } from '../../src/view/draw-page.ts'
import type { RequestScreen } from '../../src/screen.ts'
import { drawn, REQUEST, SHORT } from './page-scenes.ts'
import { outline, SmallElement, useSmallDocument } from './small-document.ts'

/* The request itself. `small-document.ts` has the short forms. */

useSmallDocument({ scrollY: 0, innerHeight: 600 })

const screenOf = (
  request: ShownRequest,
  { notice = null, isAnother = false }: Partial<RequestScreen> = {},
): RequestScreen => ({ name: 'request', request, notice, isAnother })
const UNTITLED = { workflow_title: null, action_title: null } as const

const ACTIONS =
  'actions: <p class="note read-all" id="read-all" hidden>Scroll down to read the whole request.</p><button type="button" class="button" aria-disabled="true" aria-describedby="read-all">Approve → approve</button>[stop This wasn’t me → report][plain Decline → decline]'

test('draws who asks, from which page, and what exactly', () =>
  assert.deepEqual(drawn(screenOf(REQUEST)).split('\n'), [
    'Harbor Bank asks for your approval',
    '<h1 tabindex="-1" class>{Harbor Bank} asks for your approval</h1>',
    '<p class="note" role="timer">{1:05} left</p>',
    '<dl class="origin" translate="no">(<dt>Page</dt>https://shop.example<dd class="note" dir="auto">Reported by the browser that shows the QR code.</dd>)</dl>',
    '<p class="question">Approve only if you started this request yourself, just now, on that page.</p>',
    `<section aria-label="Request details">${[
      '(Payee | Ada Lovelace)',
      'amount(Amount | €12,500.00)',
      '(Fee | €3.00)',
      '(Account | <bdi class="identifier" dir="ltr"><span>DE89</span><span>3704</span><span>0044</span><span>0532</span><span>0130</span><span>00</span></bdi>)',
      `long(Note | For xxxxxxx${'<span class="blank"> </span>'.repeat(2)}${'yes '.repeat(15)})`,
      '(Purpose | Credit application · Submit it)',
    ].join('')}</section>`,
    ACTIONS,
  ]))

test('draws a request of an agent from no page, with its text and both notices', () => {
  const tenant_name = 'x'.repeat(33)
  const requester = { kind: 'agent', name: 'Invoice agent', detail: 'Pays  invoices' }
  const text = 'one\n"a": "משה כהן"'
  const request = { ...SHORT, ...UNTITLED, tenant_name, requester, text, requesting_origin: null }
  const screen = screenOf(request, { notice: 'browser_not_confirmed', isAnother: true })
  assert.deepEqual(drawn(screen).split('\n'), [
    `${tenant_name} asks for your approval`,
    `<h1 tabindex="-1" class="long">{${tenant_name}} asks for your approval</h1>`,
    '<p class="note" role="timer">{1:05} left</p>',
    'alert: This is not the request that this tab showed before. Read it again.',
    'alert: The request was not confirmed on the page. Approve again only if you are still there.',
    `<dl class="origin" translate="no">(<dt>Requested by</dt>Invoice agent<dd class="note" dir="auto">Pays<span class="blank"> </span><span class="blank"> </span>invoices</dd><dd class="note" dir="auto">Software agent · As stated by {${tenant_name}}.</dd>)</dl>`,
    '<dl class="origin" translate="no">(<dt>Page</dt>Not known)</dl>',
    '<p class="question">Approve only if you started this request yourself, just now.</p>',
    '<section aria-label="Request details">(Payee | Ada)</section>',
    '<ol class="text" dir="ltr" translate="no"><li><code>one</code></li><li><code>"a": "<bdi>משה כהן</bdi>"</code></li></ol>',
    ACTIONS,
  ])
})

test('draws a request of the inbox with its rule, and no page', () => {
  const tenant_name = 'x'.repeat(32)
  const requester = { kind: 'robot', name: 'R2', detail: null }
  const request = { ...SHORT, ...UNTITLED, tenant_name, requester, display: [] }
  const shown = drawn(screenOf(request, { notice: 'not_verified_by_user' }), {
    rule: ['2 of 3'],
    isInbox: true,
    timeLeft: (ms) => `${Math.round(ms / 1_000)} s`,
  })
  assert.deepEqual(shown.split('\n'), [
    `${tenant_name} asks for your approval`,
    `<h1 tabindex="-1" class>{${tenant_name}} asks for your approval</h1>`,
    '<p class="note" role="timer">{65 s} left</p>',
    'alert: Your phone did not confirm it was you. Nothing was approved. Try again.',
    `<dl class="origin" translate="no">(<dt>Requested by</dt>R2<dd class="note" dir="auto">As stated by {${tenant_name}}.</dd>)</dl>`,
    '<p class="question">2 of 3</p>',
    '<p class="question">Approve only if you started this request yourself, just now, on that page.</p>',
    '<section aria-label="Request details">(Purpose | credit application · submit)</section>',
    ACTIONS,
  ])
})

test('names each kind of requester, and each notice', () => {
  for (const [kind, word] of [
    ['person', 'Person'],
    ['service', 'Service'],
    ['agent', 'Software agent'],
  ] as const) {
    const shown = drawn(screenOf({ ...SHORT, requester: { kind, name: 'R2', detail: null } }))
    assert.ok(shown.includes(`>${word} · As stated by {Harbor Bank}.<`), kind)
  }
  const lost = drawn(screenOf(SHORT, { notice: 'connection_lost' }))
  assert.ok(lost.includes('alert: No connection. The page continues by itself when it is back.\n'))
})

test('draws values without a change to their characters', () => {
  const valueOf = (value: string) => {
    const shown = drawn(screenOf({ ...SHORT, display: [{ label: 'L', value }] }))
    return /<section[^>]*>(?:amount|long)?\(L \| (.*?)\)\(Purpose/.exec(shown)?.[1]
  }
  const blank = (text: string) =>
    Array.from(text, (each) => `<span class="blank">${each}</span>`).join('')
  for (const [value, shown] of [
    // Twelve characters with four digits are an identifier.
    [
      'ABCDEFGH1234',
      '<bdi class="identifier" dir="ltr"><span>ABCD</span><span>EFGH</span><span>1234</span></bdi>',
    ],
    ['ABCDEFGHI123', 'ABCDEFGHI123'],
    ['ABCDEFG1234', 'ABCDEFG1234'],
    ['ABCDEFGH1234é', 'ABCDEFGH1234é'],
    ['a b', 'a b'],
    ['a  b', `a${blank('  ')}b`],
    ['a\u00a0b', 'a\u00a0b'],
    ['a\u2003b', `a${blank('\u2003')}b`],
    ['a\u2800b', `a${blank('\u2800')}b`],
    ['1\u202f000', '1\u202f000'],
  ] as const)
    assert.equal(valueOf(value), shown, JSON.stringify(value))
})

test('draws a value of more than 60 characters smaller, and only the first amount larger', () => {
  const rows = (values: readonly string[]) =>
    drawn(screenOf({ ...SHORT, display: values.map((value) => ({ label: 'L', value })) }))
  assert.ok(rows(['x'.repeat(60)]).includes('>(L | x'))
  assert.ok(rows(['x'.repeat(61)]).includes('long(L | x'))
  const shown = rows(['a', '€1.00', '€2.00'])
  assert.ok(shown.includes('(L | a)amount(L | €1.00)(L | €2.00)'))
})

const LATER = Number.MAX_VALUE

/** A request in a window, whose parts are one below the other. */
function placed({
  text = null as string | null,
  height = 300,
  visualViewport = null as { offsetTop: number; height: number } | null,
} = {}) {
  const reported: string[] = []
  let [restarts, permits] = [0, true]
  const document = useSmallDocument({ scrollY: 0, innerHeight: 600, visualViewport })
  const scrolled: number[] = []
  Object.assign(globalThis, { scrollBy: (_: number, y: number) => scrolled.push(y) })
  let follow: (isInert: boolean) => void = () => {}
  const read = new Set<string>()
  const draw = () =>
    drawPage(screenOf({ ...SHORT, text }), {
      messages: en,
      languages: ['en'],
      onChoice: (choice) => void reported.push(choice),
      onRemove() {},
      motion: { access: () => 'denied', seconds: () => 0 },
      guard: {
        restart: () => void restarts++,
        permits: () => permits,
        follow: (listener) => (follow = listener),
      },
      read,
    })
  const drawing = draw()
  const content = drawing.content as unknown as SmallElement[]
  const actions = content.at(-1)
  assert.ok(actions)
  const place = (top: number) => {
    for (const each of content.slice(0, -1)) {
      const rows =
        each.tag === 'section' ? (each.children[0]?.children ?? []) : [each, ...each.children]
      for (const one of rows) one.box = { top, bottom: top + height, height }
    }
    actions.box = { top: 500, bottom: 600, height: 100 }
    actions.offsetHeight = 100
    drawing.onView?.()
  }
  const [approve] = actions.all('button')
  assert.ok(approve)
  const tap = (timeStamp: number) => {
    reported.length = 0
    approve.dispatch('click', { timeStamp })
    return reported.join()
  }
  return {
    document,
    place,
    tap,
    approve,
    hint: actions.all('.read-all')[0],
    actions,
    drawing,
    draw,
    scrolled,
    restarts: () => restarts,
    forbid: () => (permits = false),
    follow: (isInert: boolean) => follow(isInert),
    read,
  }
}

test('approves only what has been in view, and reads on with a tap before', () => {
  const { place, tap, approve, hint, scrolled, restarts, follow } = placed({ height: 600 })
  follow(false)
  place(0)
  assert.equal(approve.getAttribute('aria-disabled'), 'true')
  assert.equal(approve.getAttribute('aria-describedby'), 'read-all')
  assert.equal(hint?.hidden, false)
  assert.equal(tap(LATER), '', 'the end of the parts is below the actions')
  assert.deepEqual([scrolled.length, restarts()], [1, 1])
  // The end of what was in view stays there: 501 of 600 px, without an overlap of 24 px.
  assert.ok(Math.abs((scrolled[0] ?? 0) - (501 - 24)) < 0.01, String(scrolled))
  place(-110)
  assert.equal(approve.getAttribute('aria-disabled'), null)
  assert.equal(approve.getAttribute('aria-describedby'), null)
  assert.ok(hint?.classList.contains('done'))
  assert.equal(tap(performance.now() - 60_000), '', 'a tap from before the end was in view')
  assert.equal(tap(LATER), 'approve')
})

test('approves nothing while the guard permits no tap', () => {
  const { place, tap, approve, forbid, follow } = placed()
  place(0)
  assert.equal(approve.getAttribute('aria-disabled'), 'true')
  follow(false)
  assert.equal(approve.getAttribute('aria-disabled'), null)
  follow(true)
  assert.equal(approve.getAttribute('aria-disabled'), 'true')
  forbid()
  assert.equal(tap(LATER), '')
})

test('counts a request as read only in a visible page, and remembers what was read', () => {
  const { document, place, tap, read, draw } = placed()
  document.visibilityState = 'hidden'
  place(0)
  assert.equal(tap(LATER), '')
  assert.equal(read.size, 0)
  document.visibilityState = 'visible'
  place(0)
  assert.equal(tap(LATER), 'approve')
  assert.equal(read.size, 1)
  const again = draw()
  again.onView?.()
  assert.ok(
    outline(again.content).includes(
      '<button type="button" class="button" aria-disabled="true">Approve',
    ),
  )
})

test('the end of a text stays in view for a second', () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  let now = 5_000
  const clock = mock.method(performance, 'now', () => now)
  const { place, tap } = placed({ text: 'one\ntwo', height: 20 })
  place(0)
  assert.equal(tap(LATER), '')
  now += 999
  mock.timers.tick(999)
  assert.equal(tap(LATER), '')
  now += 1
  mock.timers.tick(1)
  assert.equal(tap(now - 1), '')
  assert.equal(tap(now), 'approve')
  clock.mock.restore()
  mock.timers.reset()
})

test('keeps the actions at the bottom of the view where the lead fits above them', () => {
  const { place, actions } = placed({ height: 300 })
  place(200)
  assert.equal(actions.classList.contains('at-end'), false, '500 px and 100 px fit into 600 px')
  place(201)
  assert.equal(actions.classList.contains('at-end'), true)
})

test('the timer counts down in begun seconds, and ends at zero', () => {
  let now = 0
  const clock = mock.method(performance, 'now', () => now)
  const { drawing } = placed()
  const [timer] = drawing.content.filter(
    (each) => (each as unknown as SmallElement).getAttribute('role') === 'timer',
  ) as unknown as SmallElement[]
  for (const [at, text] of [
    [0, '1:05 left'],
    [1, '1:05 left'],
    [5_000, '1:00 left'],
    [5_001, '1:00 left'],
    [6_000, '0:59 left'],
    [64_999, '0:01 left'],
    [65_000, '0:00 left'],
    [99_000, '0:00 left'],
  ] as const) {
    now = at
    drawing.tick?.()
    assert.equal(timer?.textContent, text)
  }
  clock.mock.restore()
})

test('counts only the part of the window that a zoomed page shows', () => {
  for (const [offsetTop, height, chosen] of [
    [0, 300, 'approve'],
    [0, 290, ''],
    [20, 400, ''],
  ] as const) {
    const { place, tap } = placed({ visualViewport: { offsetTop, height } })
    place(0)
    assert.equal(tap(LATER), chosen, `${offsetTop} ${height}`)
  }
})
