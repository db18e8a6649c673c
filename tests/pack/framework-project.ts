import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type CommandResult, type EmptyFolder, succeed } from './empty-folder.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const SOURCE = join(import.meta.dirname, 'frameworks')
/** Kept between runs. The checksums are in the lockfile. */
const INSTALLED = join(ROOT, 'node_modules/.cache/pack-frameworks')
const FRESH = join(INSTALLED, 'project')

/** The frameworks whose examples the README has, in its order of headings. */
export const FRAMEWORKS = {
  'express 5': { example: 'express', from: 'express' },
  'express 4': { example: 'express', from: 'express4' },
  fastify: { example: 'fastify', from: 'fastify' },
  hono: { example: 'hono', from: 'hono' },
  fetch: { example: 'fetch', from: 'fetch' },
  next: { example: 'fetch', from: 'next' },
} as const

/** Installs the frameworks. Returns the reason to skip if there is no registry. */
export function frameworksMissing(): string | false {
  const lock = readFileSync(join(SOURCE, 'package-lock.json'), 'utf8')
  const isInstalled = () =>
    existsSync(join(INSTALLED, 'node_modules/next')) &&
    readFileSync(join(INSTALLED, 'package-lock.json'), 'utf8') === lock
  if (isInstalled()) return false
  rmSync(INSTALLED, { recursive: true, force: true })
  cpSync(SOURCE, INSTALLED, { recursive: true })
  spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: INSTALLED })
  return isInstalled()
    ? false
    : 'npm reaches no registry for the frameworks of tests/pack/frameworks'
}

/** The example of the README that imports this entry of the package. */
export function exampleOf(readme: string, entry: string): string {
  const examples = [...readme.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code = '']) => code)
  const found = examples.find((code) => code.includes(`'@bonded/integrator/${entry}'`))
  assert.ok(found, entry)
  return found
}

/**
 * The lines that an integrator adds, as formatted: without empty ones, and without those that the
 * program has already.
 */
export function addedLines(code: string): readonly string[] {
  const own = /^(?:import .* from '(?!@bonded)|export const app = )/
  return code.split('\n').filter((line) => line.trim() !== '' && !own.test(line))
}

/** The files of a Next project that the README describes, by path. */
export function nextRoutes(readme: string): ReadonlyMap<string, string> {
  const [, first = '', code = '', second = ''] =
    /`(app\/\S+route\.js)` is `(.+?)`, and `(app\/\S+route\.js)` the same with `submit`/.exec(
      readme,
    ) ?? []
  assert.ok(second)
  return new Map([
    [first, code],
    [second, code.replace('session', 'submit')],
  ])
}

/** Makes a fresh project with the tarball alone. */
export function installProject(folder: EmptyFolder): void {
  rmSync(FRESH, { recursive: true, force: true })
  mkdirSync(FRESH)
  for (const file of ['bank.js', 'start.mjs', 'approve.mjs'])
    cpSync(join(SOURCE, file), join(FRESH, file))
  writeFileSync(join(FRESH, 'package.json'), '{"private": true, "type": "module"}')
  const tarball = folder.tarballs.find((name) => name.startsWith('bonded-integrator-')) ?? ''
  const install = ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
  const file = join(folder.path, 'tarballs', tarball)
  succeed(folder.run(['npm', ...install, '--prefix', FRESH, file]))
}

/** Adds the example to a copy of the fresh project, and runs one approval through it. */
export function runProject(
  folder: EmptyFolder,
  { example, from }: (typeof FRAMEWORKS)[keyof typeof FRAMEWORKS],
  env: { readonly ORIGIN: string; readonly CREDENTIAL: string },
): CommandResult {
  const project = join(INSTALLED, `project-${from}`)
  rmSync(project, { recursive: true, force: true })
  cpSync(FRESH, project, { recursive: true })
  const readme = readFileSync(join(project, 'node_modules/@bonded/integrator/README.md'), 'utf8')
  const code = exampleOf(readme, example).replace(`from '${example}'`, `from '${from}'`)
  writeFileSync(join(project, 'form.js'), code)
  if (from === 'next') addNext(project, readme)
  const approve = join(project, 'approve.mjs')
  const name = from === 'next' ? from : example
  return folder.run([process.execPath, approve, name, folder.bin], env)
}

function addNext(project: string, readme: string): void {
  cpSync(join(SOURCE, 'next.config.js'), join(project, 'next.config.js'))
  // Next runs in another process, so the test reads what was saved by a route.
  const saved = "export { GET } from '../../saved.js'\n"
  writeFileSync(
    join(project, 'saved.js'),
    "import { saved } from './bank.js'\nexport const GET = () => Response.json(saved)\n",
  )
  for (const [path, code] of [...nextRoutes(readme), ['app/saved/route.js', saved] as const]) {
    mkdirSync(dirname(join(project, path)), { recursive: true })
    writeFileSync(join(project, path), code)
  }
}
