import { DatabaseSync, StatementSync } from 'node:sqlite'
import { ahead } from './ahead.ts'

/**
 * Ends the process at one of its writes to SQLite: `--import` loads it, and `KILL_AT_WRITE` counts
 * the moments before and after each write. Its clock begins ahead by `AHEAD_MS`.
 */
let left = Number(process.env['KILL_AT_WRITE'])
ahead.ms = Number(process.env['AHEAD_MS'])

function reached(): void {
  if (--left === 0) process.kill(process.pid, 'SIGKILL')
}

for (const [prototype, name] of [
  [DatabaseSync.prototype, 'exec'],
  [StatementSync.prototype, 'run'],
] as const) {
  const write = Reflect.get(prototype, name) as (...args: unknown[]) => unknown
  const around = function (this: unknown, ...args: unknown[]): unknown {
    reached()
    const result = Reflect.apply(write, this, args)
    reached()
    return result
  }
  Object.assign(prototype, { [name]: around })
}
