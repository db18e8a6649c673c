// Runs a script of this repository: `node scripts/run.js [flag…] SCRIPT [argument…]`. npm may run
// it with an old Node; the scripts need the version that the repository pins. A signal ends the
// script and every program that it has started, also when only npm receives it.
import { spawn } from 'node:child_process'
import { delimiter, dirname } from 'node:path'
import process from 'node:process'
import { findNode, howToInstallNode } from '../packages/service/bin/find-node.js'

/** The first version that strips types without a flag and has what the tests use. */
const NEEDED = /** @type {const} */ ([24, 0])

const node = findNode(NEEDED)
if (node === undefined) {
  console.error(`This script needs Node ${NEEDED.join('.')} or newer. This is ${process.version}.`)
  console.error(howToInstallNode())
  process.exit(2)
}
// Windows has neither process groups nor signals.
const isWindows = process.platform === 'win32'
const child = spawn(node, process.argv.slice(2), {
  stdio: 'inherit',
  detached: !isWindows,
  // npm and other programs that the script starts find the same Node.
  env: { ...process.env, PATH: dirname(node) + delimiter + process.env.PATH },
})
let isEnding = false
/** @param {'SIGINT' | 'SIGTERM' | 'SIGHUP'} signal */
function end(signal) {
  isEnding = true
  if (isWindows || child.pid === undefined) child.kill(signal)
  else process.kill(-child.pid, signal)
}
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
  process.on(signal, () => end(signal))
// npm passes a signal to the shell in which it runs a script, and the shell ends without passing it
// on. A terminal signals both at once: its signal arrives before the second comparison.
const parent = process.ppid
let hasChanged = false
setInterval(() => {
  if (process.ppid === parent) return
  // A second signal would end a script that is still ending its own programs.
  if (hasChanged && !isEnding) end('SIGTERM')
  hasChanged = true
}, 250).unref()
child.on('exit', (code, signal) => process.exit(code ?? (signal === null ? 1 : 128)))
