import assert from 'node:assert/strict'
import { test } from 'node:test'
import { helpArguments } from '../../cli/src/program/help.ts'
import { bondedProgram } from '../src/program.ts'
import { machine } from '../../../tests/harness/process.ts'

const program = await bondedProgram()

/** Every help text of the program, by the path of its command. */
function helpTexts(command = program, path = 'bonded'): [path: string, text: string][] {
  return [
    [path, command.helpInformation()],
    ...command.commands.flatMap((child) => helpTexts(child, `${path} ${child.name()}`)),
  ]
}

test('help with a path prints the help of that command, as --help does', () => {
  using m = machine()
  for (const words of [
    ['help', 'phone', 'approve'],
    ['phone', 'help', 'approve'],
    ['phone', 'approve', '--qr', 'x', '--help'],
  ]) {
    const { status, stdout } = m.run(...words)
    assert.equal(status, 0, words.join(' '))
    assert.match(stdout, /^Usage: bonded phone approve /)
  }
})

test('help for a command that does not exist is a usage error', () => {
  assert.deepEqual(helpArguments(program, ['help', 'tenant', 'fly']), ['tenant', 'fly'])
  using m = machine()
  const { status, stderr } = m.run('tenant', 'fly', '--help')
  assert.deepEqual([status, /unknown command 'fly'/.test(stderr)], [2, true])
})

test('help shows defaults with units and leaves out empty ones and references to nothing', () => {
  for (const [path, text] of helpTexts()) {
    assert.doesNotMatch(text, /default: (\{\}|\[\]|""|\d{4,}\b(?<!8787))/, path)
    assert.doesNotMatch(text, /\(below\)/, path)
  }
  const [, roll] = helpTexts().find(([path]) => path === 'bonded key roll') ?? ['', '']
  assert.match(roll, /default:\s+24 h/)
})

test('the help of a command that the console asks about first says whether it can be undone', () => {
  const texts = new Map(helpTexts())
  for (const path of [
    'tenant suspend',
    'tenant resume',
    'device block',
    'device unblock',
    'subject block',
    'subject unblock',
    'subject resume-inbox',
    'session kill',
    'webhook retry',
  ])
    assert.match(
      (texts.get(`bonded ${path}`) ?? '').replaceAll(/\s+/g, ' '),
      /You can(?:not)? undo this/,
      path,
    )
})

test('lists the settings once, in the help of config', () => {
  using m = machine()
  assert.match(m.run('help', 'config').stdout, /--data-dir <folder>/)
  for (const words of [[], ['serve'], ['config', 'print'], ['tenant', 'show']])
    assert.doesNotMatch(m.run('help', ...words).stdout, /--(port|database-url|config) </)
  assert.match(m.run('help', 'serve').stdout, /"bonded help config"/)
})

test('every command and option has a description', () => {
  const visit = (command: typeof program) => {
    assert.notEqual(command.description(), '', command.name())
    for (const option of command.options) assert.notEqual(option.description, '', option.flags)
    command.commands.forEach(visit)
  }
  visit(program)
})

test('rejects an id of the wrong form as a usage error, and an unknown one as not found', () => {
  using m = machine()
  const zeros = '0'.repeat(22)
  for (const [words, status, code] of [
    [['session', 'show', 'sess_x'], 2, 'usage'],
    [['session', 'kill', `ten_${zeros}`], 2, 'usage'],
    [['session', 'list', '--after', 'x'], 2, 'usage'],
    [['session', 'show', `sess_${zeros}`], 3, 'not_found'],
    [['session', 'kill', `sess_${zeros}`], 3, 'not_found'],
    [['tenant', 'show', `ten_${zeros}`], 3, 'not_found'],
    [['key', 'list', `ten_${zeros}`], 3, 'not_found'],
    [['key', 'revoke', 'unknown'], 3, 'not_found'],
    [['device', 'block', `dev_${zeros}`], 3, 'not_found'],
    [['phone', 'decline', '--qr', 'x', '--as', 'approve'], 2, 'usage'],
    [['phone', 'approve', '--qr', 'x', '--as', 'decline'], 2, 'usage'],
    [['phone', 'approve', '--qr', '/nowhere.png'], 1, 'invalid'],
    [['serve', '--port', 'x'], 2, 'configuration_invalid'],
  ] as const) {
    const ran = m.run(...words, '--json')
    const { error } = JSON.parse(ran.stderr) as { error: { code: string; message: string } }
    assert.deepEqual([ran.status, error.code], [status, code], words.join(' '))
    assert.ok(error.message.length > 10 && !/ at .*:\d+:\d+/.test(error.message), error.message)
  }
})
