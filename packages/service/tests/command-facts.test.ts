import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { AUDIT_CLASSES } from '@bonded/cli/program/audit-classes'
import { leavesOf } from '@bonded/cli/program/audited'
import { EXIT_CODES } from '@bonded/cli/program/exit-codes'
import { isSettingFlag } from '@bonded/cli/program/setting-flags'
import { bondedProgram } from '../src/program.ts'

const read = (name: string) =>
  readFileSync(resolve(import.meta.dirname, '../../../docs/reference', name), 'utf8')
const LEAVES = leavesOf(await bondedProgram())

/** The cells of a row of a table, without the marks of Markdown. */
const cellsOf = (row: string) =>
  row
    .slice(2, -2)
    .split(/ \| /)
    .map((cell) =>
      cell
        .replaceAll('\\|', '|')
        .replaceAll('&lt;', '<')
        .replace(/^`(.*)`$/, '$1'),
    )

/** The sentences of each section of the reference, by the words of its command. */
const SECTIONS = new Map(
  read('command-line.md')
    .split(/^## bonded /m)
    .slice(1)
    .map((section) => {
      const [heading = '', ...lines] = section.split('\n')
      const prose = lines.filter((line) => line !== '' && !line.startsWith('|'))
      return [heading.replace(/ (?:&lt;|\[).*$/, ''), prose] as const
    }),
)

test('a choice is a default where the reference says so, in the form that the command reads', () => {
  const defaults = LEAVES.flatMap(({ path, command }) =>
    command.options
      .filter((option) => !isSettingFlag(option) && option.defaultValue !== undefined)
      .map(({ long, defaultValue }) => {
        const shown = typeof defaultValue === 'function' ? 'function' : JSON.stringify(defaultValue)
        return `${path} ${long} ${shown}`
      }),
  )
  assert.deepEqual(defaults, [
    'tenant create --origin []',
    'tenant create --workflow []',
    'tenant create --limit {}',
    'tenant update --add-origin []',
    'tenant update --remove-origin []',
    'tenant update --add-workflow []',
    'tenant update --remove-workflow []',
    'tenant limits --limit {}',
    'key issue --workflow []',
    'key roll --grace 86400000',
    'session list --limit 50',
    'session rejections --limit 50',
    'device list --limit 50',
    'stats --since function',
    'stats --by "hour"',
    'stats --limit 50',
    'audit list --limit 50',
    'audit export --format "jsonl"',
    'audit export --rotate-mb 100',
    'audit export --keep 10',
    'webhook create --event []',
    'webhook create --scheme "v1"',
    'webhook update --event []',
    'webhook deliveries --limit 50',
    'approve --env []',
    'approve --workflow "agent_commands"',
    'console --name "operator"',
    'console --listen {"host":"127.0.0.1","port":8450}',
    'init --name "My shop"',
    'init --port "8788"',
  ])
})

test('the reference has each consequence, and the help of the command says it', () => {
  let count = 0
  for (const { path, command } of LEAVES) {
    const [, consequence] = SECTIONS.get(path) ?? []
    const help = command.helpInformation().replaceAll(/\s+/g, ' ')
    assert.equal(consequence !== undefined, /You can(?:not)? undo this/.test(help), path)
    if (consequence === undefined) continue
    count++
    assert.ok(help.includes(consequence), path)
  }
  assert.equal(count, 9)
})

test('each kind of end has the exit code that scripts expect', () => {
  assert.deepEqual(
    Object.entries(EXIT_CODES).map(([kind, { exit }]) => `${exit} ${kind}`),
    [
      '0 success',
      '1 failed',
      '2 usage',
      '3 not_found',
      '4 unavailable',
      '123 declined',
      '124 expired',
      '125 not_run',
    ],
  )
})

test('help lists each setting that is not secret, as its reference does', async () => {
  const config = (await bondedProgram({ name: 'config' })).commands[0]
  const rows = read('configuration.md')
    .split('\n')
    .filter((line) => line.startsWith('| `BONDED_'))
    .map((line) => cellsOf(line))
  let help = ''
  config?.configureOutput({ writeOut: (text) => (help += text) }).outputHelp()
  const text = help.replaceAll(/\s+/g, ' ')
  const isFlag = (name: string) =>
    text.includes(` --${name.slice(7).toLowerCase().replaceAll('_', '-')} <`)
  assert.ok(rows.length > 30)
  const without = rows.map(([name = '']) => name).filter((name) => !isFlag(name))
  // Other accounts can read a command line, so a secret has no flag.
  assert.deepEqual(without, ['BONDED_ROOT_KEYS', 'BONDED_TRACES_HEADERS'])
  assert.ok(text.includes('--config <file> YAML file of settings'))
})

test('each command is recorded as its effect demands', () => {
  const of = (kind: string) =>
    Object.entries(AUDIT_CLASSES)
      .filter(([, each]) => each === kind)
      .map(([path]) => path)
      .toSorted()
  assert.deepEqual(
    of('changes'),
    [
      'restore|apply|tenant create|tenant update|tenant limits|tenant suspend|tenant resume',
      'tenant remove|key issue|key roll|key revoke|session kill|device block|device unblock',
      'device remove|subject erase|subject block|subject unblock|subject resume-inbox',
      'receipt new-epoch|webhook create|webhook update|webhook delete|webhook rotate',
      'webhook test|webhook retry|webhook recover|init|trigger',
    ]
      .flatMap((line) => line.split('|'))
      .toSorted(),
  )
  assert.deepEqual(
    of('reads_person'),
    [
      'session list|session rejections|session show|session timeline|session tail|device list',
      'device show|device timeline|subject show|subject export|audit list|receipt get',
      'webhook delivery|open',
    ]
      .flatMap((line) => line.split('|'))
      .toSorted(),
  )
})
