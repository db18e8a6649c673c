import { EXIT_CODES, exitCodeOf } from '@bonded/cli/exit-codes'
import { CommanderError } from 'commander'
import { loadParts } from './program.ts'

/** How a command ends that has thrown. */
interface Failure {
  readonly exitCode: number
  readonly error: { readonly code: string; readonly message: string }
  /** Whether commander has printed it, unless it is silent. */
  readonly isPrinted: boolean
}

/** @param name of the command that was run */
export async function failureOf(failure: unknown, name: string | undefined): Promise<Failure> {
  if (failure instanceof CommanderError) {
    const { exit } = EXIT_CODES.usage
    const error = { code: 'usage', message: withoutPrefix(failure) }
    return { exitCode: exit, error, isPrinted: true }
  }
  const [part] = await loadParts(name)
  const { explain } = part ?? (await import('@bonded/cli/explain'))
  const { code, message, usage } = explain(failure)
  return { exitCode: exitCodeOf({ code, usage }), error: { code, message }, isPrinted: false }
}

/** The message without the prefix that commander adds for a terminal. */
function withoutPrefix({ code, message }: CommanderError): string {
  return code === 'commander.help' ? 'A command is missing.' : message.replace(/^error: /, '')
}
