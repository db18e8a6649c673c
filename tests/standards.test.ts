import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { test } from 'node:test'

const ROOT = resolve(import.meta.dirname, '..')
const PAGE = 'docs/guides/standards.md'
const STANDARDS = [
  'NIST SP 800-63B-4',
  'ASVS 5.0',
  'AISVS 1.01',
  'API Security Top 10',
  'WebAuthn Level 3',
  'BCP 247',
  'PSD2',
]

/** The rows below the heading of every table, with the section that they are in. */
function rowsOf(page: string) {
  let section = ''
  let isBody = false
  return readFileSync(join(ROOT, page), 'utf8')
    .split('\n')
    .flatMap((line) => {
      section = /^## (.+)/.exec(line)?.[1] ?? section
      if (/^\|(?:-+\|)+$/.test(line)) isBody = true
      else if (!line.startsWith('|')) isBody = false
      else if (isBody) return [{ section, cells: line.slice(2, -2).split(' | ') }]
      return []
    })
}

const rows = rowsOf(PAGE)

test('every row of the standards names tests that exist, or says what is not met', () => {
  const wrong = rows.flatMap(({ section, cells }) => {
    const evidence = cells.at(-1) ?? ''
    if (/^(?:not met|yours|none)(?::|$)/.test(evidence)) return []
    const links = [...evidence.matchAll(/\[[^\]]+\]\(([^)]+)\)/g)].map(([, target = '']) => target)
    const isTest = (target: string) =>
      target.endsWith('.test.ts') && existsSync(resolve(ROOT, dirname(PAGE), target))
    return links.length > 0 && links.every(isTest) ? [] : [`${section}: ${cells[0]}: ${evidence}`]
  })
  assert.deepEqual(wrong, [])
})

test('each standard has a section, and its rows name more tests than gaps', () => {
  for (const name of STANDARDS) {
    const own = rows.filter(({ section }) => section.includes(name))
    const tested = own.filter(({ cells }) => cells.at(-1)?.startsWith('['))
    assert.ok(tested.length > own.length / 2, `${name}: ${tested.length} of ${own.length}`)
  }
})

test('each control of the audit page has evidence', () => {
  const controls = rowsOf('docs/guides/for-your-audit.md')
  assert.ok(controls.length >= 20)
  for (const { cells } of controls) {
    assert.equal(cells.length, 3, cells[0])
    assert.ok(
      cells.every((cell) => cell.trim() !== ''),
      cells[0],
    )
  }
})
