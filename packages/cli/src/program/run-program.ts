import { type Command, CommanderError } from 'commander'
import { exitCodeOf } from './exit-codes.ts'
import type { Explained } from './explain.ts'
import { helpArguments } from './help.ts'
import { OutputError, written } from './output.ts'

/** A program that runs and fails as `bonded` does. */
interface Runnable {
  /** @param isSilent whether a usage error is thrown without printing it */
  readonly open: (isSilent: boolean) => Promise<Command>
  /** Explains what a command has thrown. */
  readonly explain: (failure: unknown) => Promise<Explained>
}

/** Runs the command that these words name. Prints a failure, and sets the exit code. */
export async function runProgram(words: readonly string[], { open, explain }: Runnable) {
  // What follows two dashes are the words of another command.
  const end = words.indexOf('--')
  const own = end === -1 ? words : words.slice(0, end)
  /** Whether a failure is one line of JSON on stderr, as `--json` asks. */
  const isJson = own.includes('--json')
  try {
    const program = await open(isJson)
    const given = helpArguments(program, own) ?? words
    await program.parseAsync(given, { from: 'user' }).catch(exceptAfterHelp)
    await written()
  } catch (thrown) {
    if (thrown instanceof OutputError && thrown.isUnread) return
    const { exitCode, error } = await failureOf(thrown, explain)
    process.exitCode = exitCode
    if (isJson) process.stderr.write(`${JSON.stringify({ error })}\n`)
    // Commander has printed a usage error.
    else if (!(thrown instanceof CommanderError)) process.stderr.write(`error: ${error.message}\n`)
  }
}

/** How a command ends that has thrown this. */
export async function failureOf(failure: unknown, explain: Runnable['explain']) {
  const { usage, ...error } =
    failure instanceof CommanderError
      ? { code: 'usage', message: withoutPrefix(failure), usage: true }
      : await explain(failure)
  return { exitCode: exitCodeOf({ code: error.code, usage }), error }
}

/** The message without the prefix that commander adds for a terminal. */
function withoutPrefix({ code, message }: CommanderError): string {
  return code === 'commander.help' ? 'A command is missing.' : message.replace(/^error: /, '')
}

/** Commander throws after it has printed help, or the version. */
function exceptAfterHelp(thrown: unknown): void {
  if (!(thrown instanceof CommanderError && thrown.exitCode === 0)) throw thrown
}
