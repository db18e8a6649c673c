// Copies what the service and its parts need at run time: production packages, built workspaces,
// and the license.
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import process from 'node:process'

const [target = ''] = process.argv.slice(2)
const root = resolve(import.meta.dirname, '..')
const SCOPE = '@bonded/'
/** The service, and the parts that an operator switches on: each is a process of its own. */
const DELIVERED = ['service', 'console', 'ciba']
/**
 * The parts of a built workspace. Without the sources, the launcher starts the compiled service.
 */
const BUILT = ['package.json', 'dist', 'bin', 'LICENSE']

const copy = (path) =>
  cpSync(join(root, path), join(target, path), { recursive: true, verbatimSymlinks: true })

copy('LICENSE')
copy('node_modules')
for (const name of namesFrom(DELIVERED))
  for (const part of BUILT)
    if (existsSync(join(root, 'packages', name, part))) copy(join('packages', name, part))
// npm links every workspace, also those that the image does not contain, such as the sandbox.
for (const link of globSync('node_modules/@bonded/*', { cwd: target }))
  if (!existsSync(join(target, link))) rmSync(join(target, link))
for (const name of ['healthcheck.mjs', 'bonded'])
  cpSync(join(import.meta.dirname, name), join(target, name))

/** These packages and those that they depend on. */
function namesFrom(names) {
  const found = new Set(names)
  for (const name of found) {
    const text = readFileSync(join(root, 'packages', name, 'package.json'), 'utf8')
    for (const dependency of Object.keys(JSON.parse(text).dependencies))
      if (dependency.startsWith(SCOPE)) found.add(dependency.slice(SCOPE.length))
  }
  return found
}

// The user that serves reads everything and writes nothing, whatever umask the clone was made with.
const EXECUTABLE = 0o100
chmodSync(target, 0o755)
for (const entry of readdirSync(target, { recursive: true, withFileTypes: true })) {
  if (entry.isSymbolicLink()) continue
  const path = join(entry.parentPath, entry.name)
  chmodSync(path, statSync(path).mode & EXECUTABLE ? 0o755 : 0o644)
}
