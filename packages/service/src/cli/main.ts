import { existsSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { dirname, join } from 'node:path'
import { CommanderError } from 'commander'
import { bondedProgram } from './program.ts'

/** 0 done, 1 refused, 2 usage. */
const EXIT = { refused: 1, usage: 2 } as const

// A reader that went away (`| head`), or a log on a full disk, is no reason for a service to end.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
keepCompiled()

try {
  const program = await bondedProgram(process.argv[2])
  await program.parseAsync()
} catch (failure) {
  if (failure instanceof CommanderError) {
    process.exitCode = failure.exitCode === 0 ? 0 : EXIT.usage
    if (process.exitCode === EXIT.usage) tellAsJson(failure.message.replace(/^error: /, ''))
  } else {
    const { explain } = await import('./explain.ts')
    const { text, usage } = explain(failure)
    tellAsJson(text)
    process.stderr.write(`${text}\n`)
    process.exitCode = usage ? EXIT.usage : EXIT.refused
  }
}

function tellAsJson(error: string): void {
  if (process.argv.includes('--json')) process.stdout.write(`${JSON.stringify({ error })}\n`)
}

/**
 * Keeps what the runtime made of our sources, types stripped and compiled, beside the packages they come from: whoever
 * can write there can change the code itself. Where it cannot be written, everything is only slower.
 */
function keepCompiled(): void {
  for (let folder = import.meta.dirname; dirname(folder) !== folder; folder = dirname(folder)) {
    const modules = join(folder, 'node_modules')
    if (existsSync(modules)) return void enableCompileCache(join(modules, '.cache/bonded'))
  }
}
