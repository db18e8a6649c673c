import { helpArguments } from '@bonded/cli/help'
import { failureOf } from './failure.ts'
import { bondedProgram } from './program.ts'

/** Runs the command that these words name. Prints a failure, and sets the exit code. */
export async function runCommand(words: readonly string[]): Promise<void> {
  /** Whether a failure is one line of JSON on stderr, as `--json` asks. */
  const isJson = words.includes('--json')
  try {
    const program = await bondedProgram({ name: words[0], isSilent: isJson })
    await program.parseAsync(helpArguments(program, words) ?? words, { from: 'user' })
  } catch (thrown) {
    const { exitCode, error, isPrinted } = await failureOf(thrown, words[0])
    process.exitCode = exitCode
    if (error !== undefined && isJson) process.stderr.write(`${JSON.stringify({ error })}\n`)
    else if (error !== undefined && !isPrinted) process.stderr.write(`error: ${error.message}\n`)
  }
}
