import { DatabaseSync } from 'node:sqlite'
import { realName } from './real-name.ts'
import { asStoreError, classifyError } from './sqlite-errors.ts'

/** Another service uses the same file. */
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
 * Locks a database file for one service, because each service has watchers, limits and timers in
 * memory. Commands need no lock. SQLite takes an operating system lock on a separate file, which
 * ends with the process. Nothing is ever written to that file.
 *
 * @throws {StoreInUse} if another process has the lock
 */
export function lockForServing(file: string): Disposable {
  // The real path, so that two names of one file share one lock.
  const real = realName(file)
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
