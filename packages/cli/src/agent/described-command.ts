import { createHash } from 'node:crypto'
import { access, constants, readFile, realpath, stat } from 'node:fs/promises'
import { delimiter, resolve } from 'node:path'
import { NotRun } from './not-run.ts'

/** Everything that a request covers: the words, and what decides what they do. */
export interface DescribedCommand {
  readonly command: readonly string[]
  /** The whole environment of the command. */
  readonly environment: Readonly<Record<string, string>>
  /** Without symbolic links, as is the file. */
  readonly folder: string
  readonly program: { readonly file: string; readonly sha256: string }
}

/**
 * The command as it would run now, in this folder.
 *
 * @param names of the variables that it gets
 * @throws {NotRun} for a program or a variable that does not exist
 */
export async function describeCommand(
  command: readonly string[],
  names: readonly string[],
): Promise<DescribedCommand> {
  const folder = await realpath(process.cwd())
  const file = await realpath(await findProgram(command[0] ?? '', folder))
  const sha256 = createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
  const environment = Object.fromEntries(names.map((name) => [name, valueOf(name)]))
  return { command, environment, folder, program: { file, sha256 } }
}

async function findProgram(word: string, folder: string): Promise<string> {
  const places = word.includes('/') ? ['.'] : (process.env['PATH'] ?? '').split(delimiter)
  for (const place of places) {
    const file = resolve(folder, place, word)
    if (await isProgram(file)) return file
  }
  throw new NotRun(
    'not_run',
    `There is no program ${word}. Name one that is on the PATH, or the path of its file. A shell's own commands are not programs.`,
  )
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK)
    return (await stat(file)).isFile()
  } catch {
    return false
  }
}

function valueOf(name: string): string {
  const value = process.env[name]
  if (value !== undefined) return value
  throw new NotRun('not_run', `The variable ${name} is not set. Set it, or omit --env ${name}.`)
}
