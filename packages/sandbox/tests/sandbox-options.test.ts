import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Command } from 'commander'
import { machine } from '../../../tests/harness/process.ts'
import { COMMANDS } from '../src/index.ts'
import { originOption } from '../src/sandbox-options.ts'

const m = machine()
after(() => m[Symbol.dispose]())

/** The commands that have --origin: a command and those below it. */
function* withOrigin(command: Command): Generator<Command> {
  if (command.options.some(({ long }) => long === '--origin')) yield command
  for (const child of command.commands) yield* withOrigin(child)
}

const parse = (text: string) => originOption().parseArg?.(text, undefined)

test('rejects a text that is not an origin as wrong usage, and names it', () => {
  const { status, stderr } = m.run('phone', 'inbox', '--origin', 'nonsense')
  assert.equal(status, 2, stderr)
  assert.match(stderr, /'nonsense'.*Expected an origin/)
})

test('parses --origin in every command that has it', async () => {
  const found: Command[] = []
  for (const load of Object.values(COMMANDS)) found.push(...withOrigin(await load()))
  assert.ok(found.length >= 10, String(found.length))
  for (const command of found) {
    const option = command.options.find(({ long }) => long === '--origin')
    assert.throws(() => option?.parseArg?.('nonsense', undefined), /an origin/, command.name())
  }
})

for (const [text, origin] of [
  ['https://bond.example', 'https://bond.example'],
  ['https://bond.example/', 'https://bond.example'],
  ['HTTPS://Bond.example:443', 'https://bond.example'],
  ['http://10.0.0.7:8787', 'http://10.0.0.7:8787'],
  ['http://[::1]:8787', 'http://[::1]:8787'],
] as const)
  test(`accepts ${text} as an origin`, () => {
    assert.equal(parse(text), origin)
  })

for (const text of [
  '',
  'localhost:8787',
  'ftp://bond.example',
  'https://bond.example/api',
  'https://bond.example?a',
  'https://bond.example#a',
  'https://user@bond.example',
  'https://a,b',
])
  test(`rejects ${text || 'an empty text'} as an origin`, () => {
    assert.throws(() => parse(text), /an origin/)
  })
