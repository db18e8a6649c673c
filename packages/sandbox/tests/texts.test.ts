import { join } from 'node:path'
import { test } from 'node:test'
import { PhoneError, type RunResult } from '@bonded/simulator'
import type { Command } from 'commander'
import { assertText } from '../../../tests/harness/expected-text.ts'
import { whyWithoutEffect } from '../src/answer/effect.ts'
import { answerIn, TEST_VALUES } from '../src/answer/answering-phone.ts'
import { welcome } from '../src/dev/welcome.ts'
import { explain } from '../src/explain.ts'
import { COMMANDS } from '../src/index.ts'
import { FRAMEWORKS, type Framework, filesOf, ignoredBy } from '../src/init/frameworks.ts'
import { describeRejection, describeRun } from '../src/phone/describe-run.ts'
import { WANTED } from '../src/trigger/cause-event.ts'

const FOLDER = join(import.meta.dirname, 'printed')

test('what a simulated phone did is said in sentences', () => {
  const run = (of: Partial<RunResult>): RunResult => ({
    outcome: 'approve',
    session_id: 'sess_1',
    state: 'bonded',
    shown: undefined,
    steps: [],
    completed: false,
    ...of,
  })
  const stepUp = { step: 'answered', required: ['local_auth', 'sensor_continuity'] } as const
  const refused = { code: 'refused', reason: 'session_claimed', status: 400 }
  const runs: readonly RunResult[] = [
    run({}),
    run({ completed: true, state: 'completed' }),
    run({ state: 'expired' }),
    run({ state: 'expired', steps: [{ step: 'answered', state: 'bonded' }] }),
    run({ state: undefined }),
    run({ state: 'killed', steps: [{ step: 'declined', reason: 'user_declined' }] }),
    run({ state: 'killed', steps: [{ step: 'declined', reason: 'user_unexpected' }] }),
    run({ state: 'killed', steps: [{ step: 'ended', reason: 'decided' }] }),
    run({ steps: [stepUp, { step: 'answered', state: 'bonded' }] }),
    run({ steps: [{ step: 'replayed', status: 200, state: 'bonded' }] }),
    run({ steps: [{ step: 'replayed', status: 200 }] }),
    run({ steps: [{ step: 'replayed', status: 400, reason: 'session_not_live' }] }),
    run({ rejection: refused, steps: [stepUp] }),
  ]
  const lines = runs.map((each) => describeRun(each).join('\n'))
  for (const reason of ['session_claimed', 'toString', undefined])
    lines.push(describeRejection({ code: 'step_up_unsupported', reason, status: undefined }))
  assertText(join(FOLDER, 'runs.txt'), lines.join('\n---\n'))
})

test('each failure of a simulated phone is explained with its remedy', () => {
  const lines = (
    [
      ['handoff_unreadable', 'no_code'],
      ['handoff_unreadable', 'not_a_bond'],
      ['unreachable', undefined],
      ['refused', 'credential_invalid'],
      ['refused', 'key_already_registered'],
      ['refused', 'format_not_enabled'],
      ['refused', 'attestation_invalid'],
      ['refused', 'other\u202e'],
      ['cancelled', undefined],
    ] as const
  ).map(([code, reason]) => {
    const found = explain(new PhoneError(code, reason === undefined ? {} : { reason }))
    return `${code} ${reason?.replace('\u202e', '') ?? ''}: ${found.code} ${String(found.usage)}\n  ${found.message}`
  })
  lines.push(explain(new Error('a defect')).code)
  assertText(join(FOLDER, 'failures.txt'), lines.join('\n'))
})

test('the welcome names each address, and what to do next', () => {
  const addresses = { bank: 'http://b:1', phone: 'http://p:2', service: 'http://s:3' }
  const shown = [
    welcome(addresses, true),
    welcome({ ...addresses, service: 'https://s.example' }, false),
  ].map((lines) => lines.join('\n').replace(/Sessions \S+,/, 'Sessions (version),'))
  assertText(join(FOLDER, 'welcome.txt'), shown.join('\n---\n'))
})

test('the help of each command of the sandbox has its variants, reasons and notes', async () => {
  const texts: string[] = []
  const visit = (command: Command, path: string) => {
    let text = ''
    command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 100 })
    command.outputHelp()
    texts.push(`$ bonded ${path} --help\n${text}`)
    for (const child of command.commands) visit(child, `${path} ${child.name()}`)
  }
  for (const [name, load] of Object.entries(COMMANDS)) visit(await load(), name)
  assertText(join(FOLDER, 'help.txt'), texts.join('\n'))
})

test('the events, their reasons and the test values are those of the guides', () => {
  const wanted = WANTED.map(({ type, reason = '' }) => `${type} ${reason}`)
  const workflow = (require: readonly string[], passport?: 'required') =>
    ({ workflow: 'pay', policy: { require, passport } }) as never
  const policies = { none: [], browser: ['browser'], local: ['local_auth'] }
  const effects = TEST_VALUES.flatMap((value) =>
    Object.entries(policies).map(([name, require]) => {
      const why = whyWithoutEffect(value.slice('test_'.length) as 'bonded', workflow(require))
      return `${value} ${name}: ${why ?? 'takes effect'}`
    }),
  )
  const ofPassport = ['passport_required', 'policy_not_met'].map((name) =>
    String(whyWithoutEffect(name as 'bonded', workflow([], 'required'))),
  )
  const answers = [
    ['test_bonded'],
    ['x', 'a test_nothing test_user_declined, test_bonded'],
    ['mytest_bonded'],
    ['TEST_bonded'],
    ['test_toString'],
    ['test_bonded_after_step_up'],
  ].map((values) => {
    const display = values.map((value) => ({ label: 'l', value }))
    return `${values.join(' | ')}: ${answerIn({ context: { display } }) ?? 'none'}`
  })
  answers.push(`no context: ${answerIn({ context: null }) ?? 'none'}`)
  const all = [wanted, effects, ofPassport, answers].map((lines) => lines.join('\n'))
  assertText(join(FOLDER, 'events.txt'), all.join('\n---\n'))
})

test('a new project has the files of its framework, and its git ignores what is secret', () => {
  const lines = (Object.keys(FRAMEWORKS) as Framework[]).map((name) => {
    const files = [...filesOf(name).keys()].toSorted()
    return [name, ...files.map((file) => `  ${file}`), `  ignores ${ignoredBy(name).join(' ')}`]
  })
  assertText(join(FOLDER, 'frameworks.txt'), lines.flat().join('\n'))
})
