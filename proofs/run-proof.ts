import { configured } from '@bonded/cli/program/program'
import { runProgram } from '@bonded/cli/program/run-program'
import { explain } from '@bonded/sandbox'
import type { Command } from 'commander'

/** Runs a proof with the arguments of this process. It prints and fails as `bonded` does. */
export async function runProof(proof: Command): Promise<void> {
  // A closed reader (`| head`) must not end a run before it has deleted its databases.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  await runProgram(process.argv.slice(2), {
    open: async (isSilent) => configured(proof, isSilent),
    explain: async (failure) => explain(failure),
  })
}
