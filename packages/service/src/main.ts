import { helpArguments } from '@bonded/cli/help'
import { endWithParent } from '@bonded/cli/parent'
import { failureOf } from './failure.ts'
import { bondedProgram } from './program.ts'

// A closed reader (`| head`) or a log on a full disk must not end a running service.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

if (process.env['npm_command'] !== undefined) endWithParent()

const words = process.argv.slice(2)
/** With `--json`, a failure is one line of JSON on stderr. */
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
