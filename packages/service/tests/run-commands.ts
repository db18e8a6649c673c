import { DatabaseSync } from 'node:sqlite'
import { runCommand } from '../src/run-command.ts'

/** A command, and the database whose audit log it writes to. */
export interface CommandRun {
  readonly words: readonly string[]
  readonly database: string
}

/** What a command added to the audit log, as `action result`, and how it failed. */
export interface CommandResult {
  readonly added: readonly string[]
  readonly failure: string | undefined
  /** How many secrets more its database accepts than before it. */
  readonly newSecrets: number
}

/** Runs commands in one process, which is faster than one for each. */
process.once('message', (runs: readonly CommandRun[]) => void runCommands(runs))

// As `main.ts` does.
process.stdout.on('error', () => {})
let errors = ''
process.stderr.write = (text: string | Uint8Array) => {
  errors += String(text)
  return true
}

async function runCommands(runs: readonly CommandRun[]): Promise<void> {
  const results: CommandResult[] = []
  for (const { words, database } of runs) {
    const before = entriesIn(database).length
    const secrets = secretsIn(database)
    errors = ''
    await runCommand(words)
    results.push({
      added: entriesIn(database).slice(before),
      failure: process.exitCode ? errors : undefined,
      newSecrets: secretsIn(database) - secrets,
    })
    process.exitCode = 0
  }
  process.send?.(results, () => process.disconnect())
}

function entriesIn(file: string): readonly string[] {
  const rows = select(file, 'select action, result from audit_entry order by number')
  return rows.map(({ action, result }) => `${String(action)} ${String(result)}`)
}

function secretsIn(file: string): number {
  return [
    ...select(file, 'select 1 from server_credential where revoked_at is null'),
    ...select(file, 'select 1 from webhook_endpoint'),
  ].length
}

function select(file: string, query: string) {
  try {
    using database = new DatabaseSync(file, { readOnly: true })
    return database.prepare(query).all()
  } catch {
    return []
  }
}
