import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../..')

/** A test, and the arguments without whose effect it fails. */
export interface ArgumentTest {
  /** The path of the file from the root. */
  readonly file: string
  /** The name of the test as the file has it: a template with its placeholders. */
  readonly test: string
  readonly holds: readonly string[]
}

/** The arguments of one surface: the HTTP endpoints, the commands, or the pages of the console. */
export interface ArgumentRegister {
  /** Every argument that the surface defines, listed from its source. */
  readonly defined: readonly string[]
  /** The tests whose data contain what each argument must leave out. */
  readonly tests: readonly ArgumentTest[]
  /**
   * The arguments that leave nothing out, and why. A key is an argument, or how arguments end after
   * a space: `--json` is that option of every command.
   */
  readonly others: Readonly<Record<string, string>>
}

/** What is wrong with a register, a sentence each. */
export function faultsOf(
  { defined, tests, others }: ArgumentRegister,
  read = (file: string) => readFileSync(join(ROOT, file), 'utf8'),
): readonly string[] {
  const faults: string[] = []
  const held = tests.flatMap(({ holds }) => holds)
  const isOf = (argument: string, key: string) => argument === key || argument.endsWith(` ${key}`)
  const isOther = (argument: string) => Object.keys(others).some((key) => isOf(argument, key))
  for (const argument of defined)
    if (!held.includes(argument) && !isOther(argument)) faults.push(`${argument} has no test`)
  for (const [index, argument] of held.entries()) {
    if (!defined.includes(argument)) faults.push(`${argument} is no argument`)
    if (held.indexOf(argument) !== index) faults.push(`${argument} is listed twice`)
  }
  for (const key of Object.keys(others))
    if (!defined.some((argument) => isOf(argument, key) && !held.includes(argument)))
      faults.push(`${key} is no argument without a test`)
  for (const { file, test } of tests)
    if (!testsIn(read(file)).includes(test)) faults.push(`${file} has no test "${test}"`)
  return faults
}

/** The names of the tests that a file runs, as its source has them. */
function testsIn(source: string): readonly string[] {
  const calls = source.matchAll(/(?<![.\w])(?:test|it)\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g)
  return [...calls].map(([, , name = '']) => name)
}
