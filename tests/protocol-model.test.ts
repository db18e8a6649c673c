import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { describe, test } from 'node:test'
import { CHECKS } from '../packages/core/src/protocol/checks.ts'
import { hasMaude, type Search, search } from '../scripts/protocol/maude.ts'
import { FAULTS, possible, proofs, redundant, WITHOUT } from '../scripts/protocol/searches.ts'

const MODELS = resolve(import.meta.dirname, '../proofs/models')
/** `npm run prove:protocol` searches with three, which takes minutes. */
const SESSIONS = 2
const skip = !hasMaude() && 'no maude (apt-get install maude)'

const searches = [
  ...possible(),
  ...WITHOUT,
  ...FAULTS.map((fault) => ({ ...fault, name: `rule ${fault.rule}: ${fault.name}` })),
  ...redundant(SESSIONS - 1),
  ...proofs(SESSIONS),
]

describe('the models', { concurrency: 2, skip }, () => {
  for (const asked of searches)
    test(`${asked.expected === 'found' ? 'finds' : 'has no attack with'}: ${asked.name}`, async () => {
      const { found, states, moves } = await search(asked)
      if (found !== (asked.expected === 'found'))
        assert.fail(`${states} states: ${(await moves()).join(', ')}`)
    })

  test('a goal with a mistake is an error, not an empty result', async () => {
    const typo: Search = {
      name: 'typo',
      settings: 'nothing',
      sessions: 1,
      goal: 'broken(no-promise)',
      expected: 'nothing',
    }
    await assert.rejects(search(typo), /did not answer/)
  })
})

test('each of the rules 1 to 8 and A to N has a planted fault', () => {
  assert.deepEqual(
    [...new Set(FAULTS.map(({ rule }) => rule))].toSorted(),
    Array.from('12345678ABCDEFGHIJKLMN'),
  )
})

test('the rules of the inbox name checks that the service has', () => {
  const readme = readFileSync(resolve(MODELS, 'README.md'), 'utf8')
  const rules = readme.matchAll(/^\*\*([A-G])\.\*\* .+ \((`\w+`(?:, `\w+`)*)\)$/gm)
  const named = [...rules].map(([, rule, steps = '']) => [rule, steps.replaceAll('`', '')] as const)
  assert.deepEqual(named.map(([rule]) => rule).join(''), 'ABCDEFG')
  const steps = new Set<string>(CHECKS.map(({ step }) => step))
  for (const [rule, names] of named)
    for (const name of names.split(', ')) assert.ok(steps.has(name), `rule ${rule}: ${name}`)
})

test('every setting that the model declares is searched, and the model names no other', () => {
  const state = readFileSync(resolve(MODELS, 'state.maude'), 'utf8')
  const declared = [...state.matchAll(/^ {2}ops (.+) : -> Setting /gm)].flatMap(([, names = '']) =>
    names.split(' '),
  )
  const searched = new Set(searches.flatMap(({ settings }) => settings.split(' ')))
  searched.delete('nothing')
  assert.deepEqual(declared.toSorted(), [...searched].toSorted())
})

test('the README of the model lists every planted fault and every file', () => {
  const readme = readFileSync(resolve(MODELS, 'README.md'), 'utf8')
  const listed = [...readme.matchAll(/^\| ([1-8A-N]) \| `([^`]+)` \| (.+) \| `(\w+)` \|/gm)].map(
    ([, rule, settings, name = '', promise]) => [rule, settings, name, promise],
  )
  assert.deepEqual(
    listed,
    FAULTS.map(({ rule, settings, name, promise }) => [
      rule,
      settings,
      name.charAt(0).toUpperCase() + name.slice(1),
      promise,
    ]),
  )
  for (const file of globSync('*.maude', { cwd: MODELS }))
    assert.ok(readme.includes(`(${file})`), file)
})
