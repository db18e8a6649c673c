import type { Explained } from '@bonded/cli/program/explain'
import { runProgram } from '@bonded/cli/program/run-program'
import { bondedProgram, loadParts } from './program.ts'

/** Runs the command of `bonded` that these words name. */
export async function runCommand(words: readonly string[]): Promise<void> {
  const [name] = words
  await runProgram(words, {
    open: (isSilent) => bondedProgram({ name, isSilent }),
    explain: (failure) => explainFailure(failure, name),
  })
}

/** @param name of the command that was run */
export async function explainFailure(failure: unknown, name?: string): Promise<Explained> {
  const [part] = await loadParts(name)
  const { explain } = part ?? (await import('@bonded/cli/program/explain'))
  return explain(failure)
}
