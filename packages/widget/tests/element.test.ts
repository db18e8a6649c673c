import assert from 'node:assert/strict'
import { test } from 'node:test'

test('<pulse-bond> keeps the setup that the page set before the element was defined', async (t) => {
  // As a browser upgrades an element: the constructor of HTMLElement returns the one that exists.
  let existing: object = {}
  const globals = globalThis as { HTMLElement?: unknown }
  t.after(() => delete globals.HTMLElement)
  globals.HTMLElement = function HTMLElement() {
    return existing
  }
  const { PulseBondElement } = await import('../src/npm/element.ts')
  const setup = { appearance: { theme: 'dark' } }
  existing = { setup }
  assert.equal(new PulseBondElement().setup, setup)
  existing = {}
  assert.deepEqual(new PulseBondElement().setup, {})
})
