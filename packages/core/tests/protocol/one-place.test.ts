import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SESSION_STATES } from '@bonded/contract'
import { type Check, CHECKS } from '../../src/protocol/checks.ts'

const PACKAGES = join(import.meta.dirname, '../../..')
const sources = globSync(['core/src/**/*.ts', 'store/src/**/*.ts'], { cwd: PACKAGES })
  .filter((path) => !path.startsWith('core/src/protocol/'))
  .map((path) => ({ path, text: readFileSync(join(PACKAGES, path), 'utf8') }))

/** The lines of core and store that match, outside of `protocol/`. */
function linesWith(pattern: RegExp): string[] {
  assert.ok(sources.length > 150, 'the sources were found')
  return sources.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line) => (pattern.test(line) ? [`${path}: ${line.trim()}`] : [])),
  )
}

test('only protocol/states.ts decides by the name of a state', () => {
  const states = SESSION_STATES.join('|')
  // `state = 'pending'` of a webhook's delivery is another state, in SQL.
  const decides = new RegExp(`(===|!==|case|includes\\(|\\[)\\s*'(${states})'`)
  assert.deepEqual(linesWith(decides), [])
})

test('only protocol/checks.ts names a check', () => {
  const steps = [...new Set(CHECKS.map(({ step }: Check) => step))].join('|')
  assert.deepEqual(linesWith(new RegExp(`(step(:| ===| !==)|fail\\()\\s*'(${steps})'`)), [])
})
