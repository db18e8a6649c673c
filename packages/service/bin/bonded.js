#!/usr/bin/env node
// Starts the service with this Node or with the version that this repository pins. Where neither
// is new enough, it prints the version that is needed.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { findNode, modulesAbove, whatIsMissing } from './find-node.js'
import { runNode } from './run-node.js'
import { RUNTIME_FLAGS } from './runtime-flags.js'

const here = dirname(fileURLToPath(import.meta.url))
const sources = join(here, '../src/main.ts')
const compiled = join(here, '../dist/main.js')
const main = existsSync(sources) ? sources : compiled
const flags = main === sources ? ['--conditions=@bonded/source', ...RUNTIME_FLAGS] : RUNTIME_FLAGS

// The sources need a Node that strips types; the compiled service needs node:sqlite without a flag.
const needed = /** @type {const} */ (main === sources ? [24, 0] : [22, 13])
const node = findNode(needed)
const tooOld = `bonded needs Node ${needed.join('.')} or newer. This is ${process.version}.`
const missing = main === sources ? whatIsMissing(node, needed) : tooOld
if (node === undefined || (main === sources && missing !== undefined)) {
  console.error(`error: ${missing}`)
  process.exit(2)
}
// V8 caches compiled code beside the packages. The cache adds no risk: write access to that folder
// already allows changing the code itself. It starts the compiled service about 20% faster, and the
// sources twice as fast.
const modules = modulesAbove().next().value
if (modules !== undefined) process.env.NODE_COMPILE_CACHE ??= join(modules, '.cache/bonded')
const args = [...flags, main, ...process.argv.slice(2)]
if (
  node === process.execPath &&
  typeof process.execve === 'function' &&
  process.platform !== 'win32'
) {
  process.execve(node, [node, ...args], process.env)
}
runNode(node, args, process.env)
