// Runs a script of this repository: `node scripts/run.js [flag…] SCRIPT [argument…]`. npm may run
// it with an old Node; the scripts need the version that the repository pins. A signal ends the
// script and every program that it has started, also when only npm receives it.
import { delimiter, dirname } from 'node:path'
import process from 'node:process'
import { findNode, whatIsMissing } from '../packages/service/bin/find-node.js'
import { runNode } from '../packages/service/bin/run-node.js'

/** The first version that strips types without a flag and has what the tests use. */
const NEEDED = /** @type {const} */ ([24, 0])

const node = findNode(NEEDED)
const missing = whatIsMissing(node, NEEDED)
if (node === undefined || missing !== undefined) {
  console.error(`error: ${missing}`)
  process.exit(2)
}
runNode(node, process.argv.slice(2), {
  ...process.env,
  // npm and other programs that the script starts find the same Node.
  PATH: dirname(node) + delimiter + process.env.PATH,
})
