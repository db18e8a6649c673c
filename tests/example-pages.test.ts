import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../scripts/site/documents.ts'

/** The program of each example's page. Those that are not here serve the first. */
const PAGES = ['examples/site/page.js', 'examples/next/app/application-form.js']

test('the page of every example sends every field that its backend compares', () => {
  const site = read('examples/site/site.js')
  const [, fields = ''] = /export const display = \(\{ ([^}]+) \}\)/.exec(site) ?? []
  const names = fields.split(', ')
  assert.ok(names.length >= 3)
  for (const page of PAGES)
    for (const name of names)
      assert.match(read(page), new RegExp(`\\b${name}: (?:form\\.)?${name}\\.value`), page)
})

// Chromium goes on with the animation of an earlier scroll after a later one, and ends elsewhere.
test('no page animates its scrolls', () => {
  const files = globSync('{examples,packages}/*/{browser,src}/**/*.{css,js,ts}', { cwd: ROOT })
  assert.ok(files.length >= 100)
  assert.deepEqual(
    files.filter((path) => /scroll-behavior|behavior: ["']smooth/.test(read(path))),
    [],
  )
})

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}
