import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawInbox } from '../../src/inbox/draw.ts'
import type { Screen } from '../../src/screen.ts'
import { contextOf, document, EMPTY, HOUR, LIST, push, setNow } from './inbox-scenes.ts'
import { outline, type SmallElement } from './small-document.ts'

/** The number in place, and what the screen redraws in place. */
const redraw = (screen: Screen) => {
  setNow(0)
  const drawing = drawInbox(screen, contextOf([], {}))
  return { drawing, text: () => outline(drawing.content) }
}

test('changes the number in place, and redraws everything else', () => {
  const { drawing, text } = redraw({ name: 'inbox', waiting: 2, notice: null })
  assert.equal(drawing.update?.({ name: 'inbox', waiting: 1, notice: null }), true)
  assert.match(text(), /<h1 tabindex="-1" aria-live="polite">Requests waiting: 1</)
  assert.equal(drawing.update?.({ name: 'inbox', waiting: 0, notice: null }), true)
  assert.match(
    text(),
    /polite">Inbox<.*\n.*New requests appear here by themselves\.\n.*\[plain Open\]/,
  )
  assert.equal(drawing.update?.(LIST), false)
})

test('changes the list in place only for newer requests and a lost connection', () => {
  const { drawing, text } = redraw({ ...EMPTY, push: push(false) })
  assert.equal(drawing.update?.(EMPTY), false, 'another object says whether notifications are on')
  const list = redraw(EMPTY)
  assert.equal(list.drawing.update?.({ ...EMPTY, hasNewer: true, notice: 'connection_lost' }), true)
  assert.match(list.text(), /No connection\. The page continues by itself when it is back\./)
  assert.match(list.text(), /actions: \[Show new requests\]/)
  for (const change of [
    { items: [] },
    { paused: [] },
    { isOver: true },
    { push: push(true) },
    { isBlocked: true },
  ])
    assert.equal(list.drawing.update?.({ ...EMPTY, ...change }), false, JSON.stringify(change))
  assert.equal(list.drawing.update?.({ name: 'inbox', waiting: 0, notice: null }), false)
  assert.match(text(), /<div class="actions" hidden>\[Show new requests\]/)
})

test('goes on at the request that the user left, and keeps its times', () => {
  const at = redraw({ ...LIST, at: 'sess_2' }).drawing.heading as unknown as SmallElement
  assert.match(at.textContent, /^Shop/)
  const heading = redraw(LIST).drawing.heading as unknown as SmallElement
  assert.equal(heading.textContent, 'Inbox')
  const { drawing } = redraw(LIST)
  const rows = (drawing.content[1] as unknown as SmallElement).all('.note')
  for (const [at, first, second] of [
    [0, '1/2 · 1 minute ago · 5 minutes left', '2 hours ago · 22 hours left'],
    [1, '1/2 · 1 minute ago · 4 minutes left', '2 hours ago · 22 hours left'],
    [30_000, '1/2 · 2 minutes ago · 4 minutes left', '2 hours ago · 22 hours left'],
    [HOUR, '1/2 · 1 hour ago · 0 minutes left', '3 hours ago · 21 hours left'],
    [21 * HOUR, '1/2 · 21 hours ago · 0 minutes left', '23 hours ago · 1 hour left'],
  ] as const) {
    setNow(at)
    drawing.tick?.()
    assert.deepEqual(
      rows.map(({ textContent }) => textContent),
      [first, second],
      String(at),
    )
  }
})

test('counts the characters of a note, and declines with them', () => {
  const reported: string[] = []
  const { content } = drawInbox(
    { name: 'note', tenant_name: 'Shop', notice: null },
    contextOf(reported, {}),
  )
  const [, , , field, counter, footer] = content as unknown as SmallElement[]
  assert.ok(field && counter && footer)
  field.value = 'Not mine'
  field.dispatch('input')
  assert.equal(counter.textContent, '8/200')
  footer.all('button')[0]?.dispatch('click')
  assert.deepEqual(reported, ['decline "Not mine"'])
})

test('hides a close button that has closed nothing', () => {
  const { content } = drawInbox({ name: 'decided' }, contextOf([], {}))
  const [close] = (content.at(-1) as unknown as SmallElement).all('button')
  close?.dispatch('click')
  assert.equal(close?.hidden, true)
  assert.equal(document.title, '')
})
