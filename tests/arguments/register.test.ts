import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ArgumentRegister, faultsOf } from './register.ts'

const SOURCE = `
test('a page has its rows only', async () => {})
  test(\`\${name} lists what it names\`, () => {})
test(
  "a user's row is found", () => {})
test.skip('a skipped test', () => {})
// A note about the test 'of a comment'.
`
const REGISTER: ArgumentRegister = {
  defined: ['list ?limit', 'list ?format', 'find ?user', 'find ?format'],
  tests: [
    { file: 'a.test.ts', test: 'a page has its rows only', holds: ['list ?limit'] },
    { file: 'a.test.ts', test: '${name} lists what it names', holds: [] },
    { file: 'a.test.ts', test: "a user's row is found", holds: ['find ?user'] },
  ],
  others: { '?format': 'how a response is written' },
}
const faults = (changed: Partial<ArgumentRegister>) =>
  faultsOf({ ...REGISTER, ...changed }, () => SOURCE)
const held = (test: string, ...holds: string[]) => ({
  tests: [...REGISTER.tests, { file: 'a.test.ts', test, holds }],
})

test('accepts a register in which each argument has its test or its reason', () => {
  assert.deepEqual(faults({}), [])
})

test('rejects an argument without a test, and a test of no argument', () => {
  assert.deepEqual(faults({ defined: [...REGISTER.defined, 'list ?state'] }), [
    'list ?state has no test',
  ])
  const [named = ''] = REGISTER.tests.map(({ test: name }) => name)
  assert.deepEqual(faults(held(named, 'list ?since')), ['list ?since is no argument'])
  assert.deepEqual(faults(held(named, 'find ?user')), ['find ?user is listed twice'])
})

test('rejects a reason for no argument, and one for arguments that all have a test', () => {
  const unused = { ...REGISTER.others, '?color': 'none', 'find ?user': 'none' }
  assert.deepEqual(faults({ others: unused }), [
    '?color is no argument without a test',
    'find ?user is no argument without a test',
  ])
})

test('rejects a test that its file does not run', () => {
  for (const name of ['a page', 'a skipped test', 'of a comment'])
    assert.deepEqual(faults(held(name)), [`a.test.ts has no test "${name}"`])
})
