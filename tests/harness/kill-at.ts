import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/**
 * Ends a process at its first call of a function of `node:fs`, before the call: `--import` loads
 * it, and `KILL_AT` names the function and the signal, as in `renameSync SIGKILL`.
 */
const [name, signal] = (process.env.KILL_AT ?? '').split(' ')
if (name !== undefined && name in fs) {
  Object.assign(fs, {
    [name]: () => {
      process.kill(process.pid, signal)
      // A signal that the process handles itself would otherwise arrive after the call.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10_000)
    },
  })
  syncBuiltinESMExports()
}
