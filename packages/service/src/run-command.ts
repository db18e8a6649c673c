import { helpArguments } from '@bonded/cli/help'
import { OutputError, written } from '@bonded/cli/output'
import { CommanderError } from 'commander'
import { failureOf } from './failure.ts'
import { bondedProgram } from './program.ts'

/** Runs the command that these words name. Prints a failure, and sets the exit code. */
export async function runCommand(words: readonly string[]): Promise<void> {
  /** Whether a failure is one line of JSON on stderr, as `--json` asks. */
  const isJson = words.includes('--json')
  try {
    const program = await bondedProgram({ name: words[0], isSilent: isJson })
    await program
      .parseAsync(helpArguments(program, words) ?? words, { from: 'user' })
      .catch(exceptAfterHelp)
    await written()
  } catch (thrown) {
    if (thrown instanceof OutputError && thrown.isUnread) return
    const { exitCode, error, isPrinted } = await failureOf(thrown, words[0])
    process.exitCode = exitCode
    if (isJson) process.stderr.write(`${JSON.stringify({ error })}\n`)
    else if (!isPrinted) process.stderr.write(`error: ${error.message}\n`)
  }
}

/** Commander throws after it has printed help, or the version. */
function exceptAfterHelp(thrown: unknown): void {
  if (!(thrown instanceof CommanderError && thrown.exitCode === 0)) throw thrown
}
