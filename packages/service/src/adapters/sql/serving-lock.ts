import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { asStoreError, classifyError } from './sqlite-errors.ts'

/** Another service works on the same file. */
export class StoreInUse extends Error {
  readonly code = 'store_in_use'
  override readonly name = 'StoreInUse'
  readonly file: string

  constructor(file: string) {
    super(`another service works on ${file}`)
    this.file = file
  }
}

/**
 * Makes sure that one service works on a file, and no second: each keeps watchers, limits and timers in memory.
 * The command line needs no such lock. It is a lock of the operating system, taken through SQLite on a file of
 * its own, so it ends with the process however that ends. Nothing is ever written to that file.
 *
 * @throws {StoreInUse} where another process has it
 */
export function lockForServing(file: string): Disposable {
  // By its real path: two names of one file are one file.
  const real = existsSync(file)
    ? realpathSync(file)
    : join(realpathSync(dirname(file)), basename(file))
  const lockFile = `${real}.lock`
  try {
    const lock = new DatabaseSync(lockFile)
    try {
      lock.exec('pragma journal_mode = memory; begin exclusive')
    } catch (cause) {
      lock.close()
      throw cause
    }
    return { [Symbol.dispose]: () => lock.close() }
  } catch (cause) {
    if (classifyError(cause) === 'locked') throw new StoreInUse(real)
    throw asStoreError(cause, { to: 'open', where: lockFile })
  }
}
