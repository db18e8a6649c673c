import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'
import { DatabaseSync } from 'node:sqlite'

/**
 * Ends a process before a call: `--import` loads it, and `KILL_AT` names a function of `node:fs`
 * and the signal, as in `renameSync SIGKILL`, or the commit to a database, as in
 * `commit:3 SIGKILL`. PostgreSQL's are found where statements are not prepared.
 */
const [call = '', signal] = (process.env.KILL_AT ?? '').split(' ')
const [name = '', count = '1'] = call.split(':')
let left = Number(count)

function end(): void {
  if (--left > 0) return
  process.kill(process.pid, signal)
  // A signal that the process handles itself would otherwise arrive after the call.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10_000)
}

if (name === 'commit') {
  // oxlint-disable-next-line typescript/unbound-method -- called with its object
  const { prepare } = DatabaseSync.prototype
  DatabaseSync.prototype.prepare = function (text) {
    const statement = prepare.call(this, text)
    if (text !== 'commit') return statement
    const run = statement.run.bind(statement)
    return Object.assign(statement, {
      run() {
        end()
        return run()
      },
    })
  }
  // oxlint-disable-next-line typescript/unbound-method -- called with its object
  const { write } = Socket.prototype
  Socket.prototype.write = function (data: unknown, ...rest: unknown[]) {
    if (data instanceof Uint8Array && Buffer.from(data).includes('commit\0')) end()
    return Reflect.apply(write, this, [data, ...rest]) as boolean
  }
} else if (name in fs) {
  Object.assign(fs, { [name]: end })
  syncBuiltinESMExports()
}
