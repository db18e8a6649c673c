import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Argument, Command, Option } from 'commander'
import { assertText } from '../../../../tests/harness/expected-text.ts'
import { AuditFile } from '../../src/audit/audit-file.ts'
import { exitCodeOfSignal } from '../../src/agent/running-command.ts'
import {
  deviceArgument,
  endpointArgument,
  eventArgument,
  limitOption,
  optionalTenantArgument,
  ownerArgument,
  parseTime,
  sessionArgument,
  subjectArgument,
  tenantArgument,
  wholeNumber,
} from '../../src/program/arguments.ts'
import { reasonOption } from '../../src/program/audited.ts'
import {
  bashCompletion,
  fishCompletion,
  zshCompletion,
} from '../../src/program/completion-scripts.ts'
import { durationUpTo, parseDuration } from '../../src/program/duration.ts'
import { describeArgument, describeOption, helpArguments } from '../../src/program/help.ts'
import { fields, isoTime, table } from '../../src/program/output.ts'
import { keyCommand, keyIdOf } from '../../src/tenant/key.ts'
import { parseSubjectRef, namedSubject } from '../../src/user/named-subject.ts'
import { collectWorkflow } from '../../src/tenant/workflow-option.ts'

const ID = '1'.repeat(22)
const DAY = 86_400_000

test('each argument takes the ids of its kind, and says what it expects', () => {
  for (const [argument, prefix] of [
    [tenantArgument(), 'ten'],
    [optionalTenantArgument(), 'ten'],
    [ownerArgument(), 'ten'],
    [sessionArgument(), 'sess'],
    [deviceArgument(), 'dev'],
    [subjectArgument(), 'sub'],
    [endpointArgument(), 'we'],
    [eventArgument(), 'evt'],
  ] as const) {
    const parse = (text: string) => argument.parseArg?.(text, undefined)
    assert.equal(parse(`${prefix}_${ID}`), `${prefix}_${ID}`)
    for (const other of ['ten', 'sess', 'dev', 'sub', 'we', 'evt', 'req'].filter(
      (p) => p !== prefix,
    ))
      assert.throws(
        () => parse(`${other}_${ID}`),
        new RegExp(
          `^InvalidArgumentError: Expected ${prefix}_ followed by 22 letters and digits\\.$`,
        ),
      )
  }
  assert.equal(ownerArgument().parseArg?.('operator', undefined), 'operator')
  assert.throws(() => tenantArgument().parseArg?.('operator', undefined))
})

test('numbers, times and durations are taken to their bounds, in their units', () => {
  const limit = (text: string) => limitOption().parseArg?.(text, undefined)
  assert.deepEqual([limit('1'), limit('1000')], [1, 1_000])
  for (const text of ['0', '1001', '-1', '1.5', '1e2', '', ' 1'])
    assert.throws(() => limit(text), /Expected a whole number from 1 to 1000\./, text)
  assert.equal(wholeNumber(9, 0)('0'), 0)
  assert.equal(parseTime('2026-11-21T08:00:00Z'), Date.UTC(2026, 10, 21, 8))
  assert.throws(() => parseTime('yesterday'), /Expected a time such as 2026-11-21T08:00:00Z\./)
  for (const [text, ms] of [
    ['0', 0],
    ['90s', 90_000],
    ['30m', 1_800_000],
    ['24h', DAY],
    ['7d', 7 * DAY],
    ['30d', 30 * DAY],
    ['720h', 30 * DAY],
    ['0d', 0],
  ] as const)
    assert.equal(parseDuration(text), ms, text)
  const expected = /Expected a time such as 90s, 30m, 24h or 7d, at most 30d, or 0\./
  for (const text of ['31d', '721h', '2592001s', '1', '1w', '-1d', '1.5h', 'd', '1000000s0', ''])
    assert.throws(() => parseDuration(text), expected, text)
  assert.equal(durationUpTo(400)('400d'), 400 * DAY)
  assert.throws(() => durationUpTo(400)('401d'), /at most 400d, or 0/)
  const reason = (text: string) => reasonOption().parseArg?.(text, undefined)
  assert.equal(reason('😀'.repeat(200)), '😀'.repeat(200))
  for (const text of ['x'.repeat(201), '', '\u202e'])
    assert.throws(() => reason(text), /Expected 1 to 200 visible characters\./)
  assert.deepEqual(
    (['SIGHUP', 'SIGINT', 'SIGKILL', 'SIGTERM'] as const).map(exitCodeOfSignal),
    [129, 130, 137, 143],
  )
})

test('a key is named, scoped and ended as the command line says', () => {
  const issue = keyCommand().commands.find((command) => command.name() === 'issue')
  const parse = (name: string, text: string, earlier?: unknown) =>
    issue?.options.find(({ long }) => long === name)?.parseArg?.(text, earlier)
  assert.equal(keyIdOf('sk_beta_abcdefghij_secret'), 'abcdefghij')
  assert.equal(keyIdOf('pk_beta_x'), 'pk_beta_x')
  assert.deepEqual([parse('--expires', '1d'), parse('--expires', '730d')], [DAY, 730 * DAY])
  for (const text of ['0d', '731d', '1h', '1', 'd'])
    assert.throws(() => parse('--expires', text), /Expected days such as 90d, at most 730d\./)
  assert.equal(parse('--name', `A b.c_d-${'e'.repeat(56)}`), `A b.c_d-${'e'.repeat(56)}`)
  for (const text of ['x'.repeat(65), ' a', '', 'a/b', 'é'])
    assert.throws(() => parse('--name', text), /Expected up to 64 letters, digits, spaces, dots/)
  const scope = (...texts: string[]) =>
    texts.reduce<unknown>((earlier, text) => parse('--workflow', text, earlier), [])
  assert.deepEqual(scope('w:a', 'v', 'w:b'), [
    { workflow: 'v', actions: null },
    { workflow: 'w', actions: ['a', 'b'] },
  ])
  assert.deepEqual(scope('w:a', 'w', 'w:b'), [{ workflow: 'w', actions: null }])
  for (const text of ['', ':a', 'w:', 'w:a:b'])
    assert.throws(() => scope(text), /Expected workflow or workflow:action\./)
  assert.deepEqual(collectWorkflow('w:a,b:passport=optional', []), [
    { name: 'w', actions: ['a', 'b'], passport: 'optional' },
  ])
  for (const text of ['w', 'w:a:passport=x', 'w:a:passport=none:passport=none', 'w:a:x=y', ':a'])
    assert.throws(() => collectWorkflow(text, []), /Expected name:action/, text)
  assert.equal(parseSubjectRef('r'.repeat(43)), 'r'.repeat(43))
  assert.throws(() => parseSubjectRef('r'.repeat(42)), /Expected 43 characters of base64url\./)
  const [id, tenant] = [`sub_${ID}` as never, `ten_${ID}` as never]
  assert.equal(namedSubject(id, {}), id)
  assert.equal(namedSubject(undefined, {}), undefined)
  assert.deepEqual(namedSubject(undefined, { tenant, subjectRef: 'r' }), {
    tenantId: tenant,
    subjectRef: 'r',
  })
  for (const [given, of] of [
    [id, { tenant, subjectRef: 'r' }],
    [undefined, { tenant }],
    [undefined, { subjectRef: 'r' }],
  ] as const)
    assert.throws(() => namedSubject(given, of), { code: 'invalid' })
})

test('a table aligns its columns, and leaves no space at the end of a line', () => {
  const rows = [
    { a: 'long text', b: null, c: true },
    { a: 'x', b: 10, c: undefined },
    { a: '', b: { m: [1] }, c: '' },
  ]
  assert.deepEqual(table(['a', 'b', 'c'], rows, 'none'), [
    'A          B          C',
    'long text  -          true',
    'x          10         -',
    '           {"m":[1]}',
  ])
  assert.deepEqual(table(['a'], [], 'none'), ['none'])
  assert.deepEqual(fields({ a: 1, long_name: null, b: 'x' }), [
    'a          1',
    'long_name  -',
    'b          x',
  ])
  assert.deepEqual([isoTime(null), isoTime(0)], [null, '1970-01-01T00:00:00.000Z'])
})

test('the notes of help are in one order, and help is found behind any words', () => {
  const option = new Option('--a <b>', 'About').choices(['x', 'y']).default('x', 'the x')
  assert.equal(
    describeOption(option.makeOptionMandatory()),
    'About (required; x, y; default: the x)',
  )
  assert.equal(describeOption(new Option('--a', 'About').default(3)), 'About')
  assert.equal(describeArgument(new Argument('<a>', 'About').choices(['x', 'y'])), 'About (x, y)')
  assert.equal(describeArgument(new Argument('<a>', 'About')), 'About')
  const program = new Command('p')
  program.addCommand(new Command('one').addCommand(new Command('two')))
  for (const [words, found] of [
    ['one two', undefined],
    ['help', '--help'],
    ['help one', 'one --help'],
    ['one help two', 'one two --help'],
    ['one two ten_1 --x help', undefined],
    ['one two ten_1 --x -h', 'one two --help'],
    ['one two help', 'one two --help'],
    ['one three --help', 'one three'],
    ['--help', '--help'],
  ] as const)
    assert.equal(helpArguments(program, words.split(' '))?.join(' '), found, words)
})

test('the scripts for shells complete each word by its kind', () => {
  const value = (word: string, of: unknown) => ({ word, means: `It’s ${word}`, value: of }) as never
  const places = [
    {
      path: '',
      commands: [{ word: 'one', means: "Do 'it' \\ now" }],
      values: [],
      options: [value('--plain', undefined)],
      settings: [],
    },
    {
      path: 'one',
      commands: [{ word: 'two', means: 'Two' }],
      values: [],
      options: [],
      settings: [],
    },
    {
      path: 'one two',
      commands: [],
      values: ['file', 'text', { choices: ['a', 'b'] }] as never,
      options: [
        value('--flag', undefined),
        value('--choice', { choices: ['x', 'y'] }),
        value('--file', 'file'),
        value('--folder', 'folder'),
      ],
      settings: [value('--setting', 'text')],
    },
  ]
  const scripts = [bashCompletion, zshCompletion, fishCompletion].map((script) => script(places))
  assertText(join(import.meta.dirname, '../printed/completion.txt'), scripts.join('\n\n'))
})

test('a file of entries is continued, rotated at its size, and cut after a crash', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-audit-'))
  try {
    const file = join(folder, 'audit.jsonl')
    const entry = (sequence: number) =>
      JSON.stringify({ metadata: { sequence }, unmapped: { previous: `p${sequence}` } })
    const size = entry(1).length + 1
    const log = new AuditFile(file, { maxBytes: 2 * size, keep: 2 })
    assert.equal(log.last(), undefined)
    log.append([entry(1)])
    log.append([entry(2)])
    assert.deepEqual(log.last(), { number: 2, previous: 'p2' })
    log.append([entry(3)])
    log.append([entry(4), entry(5)])
    log.append([entry(6), entry(7)])
    const numbers = (name: string) =>
      new AuditFile(join(folder, name), { maxBytes: 1, keep: 1 }).last()
    assert.deepEqual(
      ['audit.jsonl', 'audit.jsonl.1', 'audit.jsonl.2', 'audit.jsonl.3'].map(
        (name) => numbers(name)?.number,
      ),
      [7, 5, 3, undefined],
    )
    writeFileSync(file, '')
    assert.equal(log.last()?.number, 5)
    writeFileSync(file, `${entry(8)}\n{"unfinished`)
    assert.equal(log.last()?.number, 8)
    log.append([entry(9)])
    assert.equal(log.last()?.number, 9)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
