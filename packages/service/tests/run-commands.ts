import { DatabaseSync } from 'node:sqlite'
import { bondedProgram } from '../src/program.ts'

/** A command, and the database whose audit log it writes to. */
export interface CommandRun {
  readonly words: readonly string[]
  readonly database: string
}

/** What a command added to the audit log, as `action result`, and how it failed. */
export interface CommandResult {
  readonly added: readonly string[]
  readonly failure: string | undefined
}

/** Runs commands in one process, which is faster than one for each. */
process.once('message', (runs: readonly CommandRun[]) => void runCommands(runs))

async function runCommands(runs: readonly CommandRun[]): Promise<void> {
  const results: CommandResult[] = []
  for (const { words, database } of runs) {
    const before = entriesIn(database).length
    const program = await bondedProgram({ name: words[0], isSilent: true })
    const failure = await program.parseAsync([...words], { from: 'user' }).then(
      () => undefined,
      (thrown: unknown) => String(thrown),
    )
    results.push({ added: entriesIn(database).slice(before), failure })
  }
  process.send?.(results, () => process.disconnect())
}

function entriesIn(file: string): readonly string[] {
  try {
    using database = new DatabaseSync(file, { readOnly: true })
    const rows = database.prepare('select action, result from audit_entry order by number').all()
    return rows.map(({ action, result }) => `${String(action)} ${String(result)}`)
  } catch {
    return []
  }
}
