import assert from 'node:assert/strict'
import { afterEach, beforeEach, mock, test } from 'node:test'
import { createView } from '../../src/view/view.ts'
import type { DrawnScreen } from '../../src/view/parts.ts'
import type { Screen } from '../../src/screen.ts'
import { SmallElement, useSmallDocument } from './small-document.ts'

// A real timer of a screen that stays would keep the process.
beforeEach(() => mock.timers.enable({ apis: ['setInterval'] }))
afterEach(() => mock.timers.reset())

function viewing() {
  const listeners = new Map<string, () => void>()
  const seen: string[] = []
  const document = useSmallDocument({
    addEventListener: (type: string, listener: () => void) => listeners.set(type, listener),
    scrollTo: (x: number, y: number) => seen.push(`scroll ${x} ${y}`),
  })
  const root = new SmallElement('main', document)
  const draw = (screen: Screen): DrawnScreen => {
    const heading = new SmallElement('h1', document)
    heading.append(screen.name)
    return {
      title: `Title of ${screen.name}`,
      content: [heading] as never,
      heading: heading as never,
      onView: () => void seen.push(`view ${screen.name}`),
      ...(screen.name === 'renew'
        ? { update: (next) => next.name === 'renew' }
        : { tick: () => void seen.push(`tick ${screen.name}`) }),
    }
  }
  const guard = { restart: () => void seen.push('restart') }
  const view = createView(root as never, draw, guard)
  const take = () => seen.splice(0)
  const focused = () => document.activeElement?.textContent
  return { document, root, view, take, listeners, focused }
}

test('draws a screen with its title, and moves the focus to its heading', () => {
  const { document, root, view, take, focused } = viewing()
  view.show({ name: 'loading' })
  assert.deepEqual(take(), ['restart', 'scroll 0 0', 'view loading'])
  assert.equal(document.title, 'Title of loading')
  assert.equal(focused(), undefined, 'the first screen of a page announces itself')
  view.show({ name: 'motion' })
  assert.deepEqual(take(), ['restart', 'scroll 0 0', 'view motion'])
  assert.equal(focused(), 'motion')
  assert.equal(root.children.length, 1)
  assert.equal(root.children[0]?.getAttribute('data-screen'), 'motion')
  assert.equal(document.title, 'Title of motion')
})

test('focuses a first screen that is not the one that loads', () => {
  const { view, focused } = viewing()
  view.show({ name: 'motion' })
  assert.equal(focused(), 'motion')
})

test('updates in place where the screen can, and scrolls only for another one', () => {
  const { view, take } = viewing()
  view.show({ name: 'renew' })
  take()
  view.show({ name: 'renew' })
  assert.deepEqual(take(), [])
  view.show({ name: 'motion' })
  take()
  view.show({ name: 'motion' })
  assert.deepEqual(take(), ['restart', 'view motion'])
})

test('tells a screen when the user sees another part of it', () => {
  const { view, take, listeners } = viewing()
  view.show({ name: 'motion' })
  take()
  for (const type of ['scroll', 'resize']) listeners.get(type)?.()
  assert.deepEqual(take(), ['view motion', 'view motion'])
  assert.deepEqual([...listeners.keys()], ['scroll', 'resize'])
})

test('ticks once a second, and only for the screen that is shown', () => {
  const { view, take } = viewing()
  view.show({ name: 'motion' })
  view.show({ name: 'loading' })
  take()
  mock.timers.tick(999)
  assert.deepEqual(take(), [])
  mock.timers.tick(1_001)
  assert.deepEqual(take(), ['tick loading', 'tick loading'])
  view.show({ name: 'renew' })
  take()
  mock.timers.tick(5_000)
  assert.deepEqual(take(), [])
})
