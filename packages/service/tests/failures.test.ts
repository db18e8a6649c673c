import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exitCodeOf } from '@bonded/cli/program/exit-codes'
import { OperatorError } from '../../core/src/operations/admin/operator-error.ts'
import { StoreError } from '../../core/src/ports/store.ts'
import { type Argument, type Command, CommanderError } from 'commander'
import { failureOf } from '../../cli/src/program/run-program.ts'
import { bondedProgram } from '../src/program.ts'
import { explainFailure } from '../src/run-command.ts'

/** No option and no argument accepts it. */
const WRONG = '\u0001'

function leavesOf(command: Command, before: readonly string[] = []): [string[], Command][] {
  if (command.commands.length === 0) return [[[...before], command]]
  return command.commands.flatMap((child) => leavesOf(child, [...before, child.name()]))
}

const leaves = leavesOf(await bondedProgram({ isSilent: true }))

/** Parses words whose command must not run, and returns how it ends. */
async function ending(words: readonly string[]) {
  const program = await bondedProgram({ name: words[0], isSilent: true })
  for (const [, command] of leavesOf(program))
    command.action(() => assert.fail(`ran: bonded ${words.join(' ')}`))
  const thrown: unknown = await program
    .parseAsync([...words], { from: 'user' })
    .catch((failure: unknown) => failure)
  assert.ok(thrown instanceof CommanderError, words.join(' '))
  return failureOf(thrown, explainFailure)
}

/** Values for the arguments that a command requires. */
const given = ({ registeredArguments }: Command) =>
  registeredArguments.filter(({ required }) => required).map(() => 'x')

/** Any text is the name of a file, or a key to look for. */
function accepts({ argChoices, parseArg }: Pick<Argument, 'argChoices' | 'parseArg'>): boolean {
  if (argChoices !== undefined) return false
  try {
    parseArg?.(WRONG, undefined as never)
    return true
  } catch {
    return false
  }
}

for (const [path, command] of leaves)
  test(`bonded ${path.join(' ')} rejects what it does not know as wrong usage`, async () => {
    const { registeredArguments } = command
    const wrong = [
      [...given(command), '--no-such-option'],
      ...(registeredArguments.some(({ variadic }) => variadic)
        ? []
        : [[...registeredArguments.map(() => 'x'), 'x']]),
      ...(given(command).length === 0 ? [] : [[]]),
      ...registeredArguments.flatMap((argument) =>
        accepts(argument) ? [] : [registeredArguments.map(() => WRONG)],
      ),
      ...command.options.flatMap((option) =>
        option.required && !accepts(option) ? [[`${option.long}=${WRONG}`]] : [],
      ),
    ]
    for (const words of wrong) {
      const { exitCode, error } = await ending([...path, ...words])
      assert.deepEqual([exitCode, error?.code], [2, 'usage'], words.join(' '))
      assert.ok((error?.message ?? '').length > 5, words.join(' '))
      assert.doesNotMatch(error?.message ?? '', /^error:/)
    }
  })

test('a failure ends with the exit code of its kind', async () => {
  const explainOfTenant = (failure: unknown) => explainFailure(failure, 'tenant')
  const exit = async (failure: unknown) => (await failureOf(failure, explainOfTenant)).exitCode
  assert.equal(await exit(new OperatorError('No tenant', { code: 'not_found' })), 3)
  assert.equal(await exit(new OperatorError('No', { code: 'conflict' })), 1)
  for (const kind of ['unreachable', 'busy', 'locked'] as const)
    assert.equal(await exit(new StoreError('down', { kind })), 4, kind)
  assert.equal(await exit(new StoreError('full', { kind: 'full' })), 1)
  assert.equal(await exit(new Error('a defect')), 1)
  assert.equal(exitCodeOf({ code: 'root_key_invalid', usage: false }), 1)
})
