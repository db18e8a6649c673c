import { CommanderError } from 'commander'
import { helpArguments } from '@bonded/cli/help'
import { bondedProgram, loadSandbox } from './program.ts'

/** Exit codes beside 0, success. */
const EXIT = { failed: 1, usage: 2 } as const

// A closed reader (`| head`) or a log on a full disk must not end a running service.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

const words = process.argv.slice(2)
/** With `--json`, an error is one document on stdout, and stderr stays empty. */
const isJson = words.includes('--json')
try {
  const program = await bondedProgram({ name: words[0], isSilent: isJson })
  await program.parseAsync(helpArguments(program, words) ?? words, { from: 'user' })
} catch (failure) {
  if (failure instanceof CommanderError) {
    process.exitCode = failure.exitCode === 0 ? 0 : EXIT.usage
    if (isJson && process.exitCode === EXIT.usage)
      printJsonError({ code: 'usage', message: withoutPrefix(failure) })
  } else {
    const { explain } = (await loadSandbox(words[0])) ?? (await import('@bonded/cli/explain'))
    const { usage, ...error } = explain(failure)
    if (isJson) printJsonError(error)
    else process.stderr.write(`error: ${error.message}\n`)
    process.exitCode = usage ? EXIT.usage : EXIT.failed
  }
}

/** The message without the prefix that commander adds for a terminal. */
function withoutPrefix({ code, message }: CommanderError): string {
  return code === 'commander.help' ? 'A command is missing.' : message.replace(/^error: /, '')
}

function printJsonError(error: { readonly code: string; readonly message: string }): void {
  process.stdout.write(`${JSON.stringify({ error })}\n`)
}
