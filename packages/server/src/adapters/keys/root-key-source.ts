import { randomBytes } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseRootKeys, type RootKey, RootKeyError } from '@bonded/core/domain/root-keys'
import { ProgramError, runProgram } from '../programs/program.ts'

/** Where the root keys are, of which the configuration itself holds none. */
export interface RootKeySource {
  /** Its name, for the operator. */
  readonly place: string
  /** False for a sandbox that has not generated its key. */
  exists(): boolean
  /**
   * The root keys, the active one first. Generates those of a sandbox without any. A program runs
   * once, however often its keys are needed.
   *
   * @throws {RootKeyError} if they cannot be read or used
   */
  load(): Promise<readonly RootKey[]>
}

/** The same rule as for a file with the keys. */
const MAX_OUTPUT_CHARACTERS = 64 * 1024
/** A key service that is asked again after a failure needs some of it; systemd waits for 90 s. */
const TIMEOUT_MS = 30_000

/** The root keys of the setting's value. */
export function givenRootKeys(text: string): RootKeySource {
  return {
    place: 'BONDED_ROOT_KEYS',
    exists: () => true,
    load: async () => parseRootKeys(text),
  }
}

/** The root keys that a program prints. No error quotes the program, which could print a key. */
export function printedRootKeys(command: string, timeoutMs = TIMEOUT_MS): RootKeySource {
  let keys: Promise<readonly RootKey[]> | undefined
  const run = async () => {
    try {
      const printed = await runProgram(command, { timeoutMs, maxCharacters: MAX_OUTPUT_CHARACTERS })
      const text = printed.trim()
      if (text === '') throw new ProgramError('printed nothing', {})
      return parseRootKeys(text)
    } catch (cause) {
      const { message } = cause as Error
      if (cause instanceof ProgramError) throw new RootKeyError(message, { command })
      if (!(cause instanceof RootKeyError)) throw cause
      throw new RootKeyError(`printed no root keys: ${message}`, { command })
    }
  }
  return {
    place: `what ${command} prints`,
    exists: () => true,
    load: () => (keys ??= run()),
  }
}

/** The root keys of a sandbox without the setting, in its data folder. */
export function storedRootKeys(dataDir: string): RootKeySource {
  const file = join(dataDir, 'root.key')
  return {
    place: file,
    exists: () => existsSync(file),
    async load() {
      const text = readOrCreate(file)
      try {
        return parseRootKeys(text)
      } catch (cause) {
        if (cause instanceof RootKeyError) throw new RootKeyError(cause.message, { file })
        throw cause
      }
    },
  }
}

/**
 * Only the owner may read the file. A hard link publishes it whole or not at all, even if the disk
 * is full or the process dies. Of two processes that start at once, one creates it and both read
 * it.
 */
function readOrCreate(file: string): string {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const existing = readIfExists(file)
  if (existing !== undefined) return existing
  const draft = `${file}.${process.pid}`
  try {
    writeFileSync(draft, `k1:${randomBytes(32).toString('base64url')}\n`, { mode: 0o600 })
    linkSync(draft, file)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
  } finally {
    rmSync(draft, { force: true })
  }
  return readFileSync(file, 'utf8').trim()
}

function readIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw cause
  }
}
