import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The examples that `bonded init` copies, each with the dependency that shows it. */
export const FRAMEWORKS = {
  express: 'express',
  typescript: null,
  fastify: 'fastify',
  hono: 'hono',
  next: 'next',
  django: null,
} as const

export type Framework = keyof typeof FRAMEWORKS

/** The folder of the examples: in the package, of the copies that its build made. */
const EXAMPLES =
  [
    join(import.meta.dirname, '../examples'),
    join(import.meta.dirname, '../../../../examples'),
  ].find((folder) => existsSync(join(folder, 'site'))) ?? ''

/** The package of Python, which an example has as a folder: no registry has it. */
const PYTHON =
  [join(EXAMPLES, 'python'), join(EXAMPLES, '../packages/python/src')].find(existsSync) ?? ''

/** The policy of the example's workflow. */
export const POLICY_FILE = join(EXAMPLES, 'site/workflow.json')

/** Shared files that the example of a framework does not use. */
const UNUSED: Partial<Record<Framework, readonly string[]>> = {
  // Its own `app` is the page.
  next: ['page.html', 'page.js', 'serve-page.js'],
  // Its program is Python.
  django: ['site.js', 'serve-page.js'],
}

/** What the example makes where it runs. */
const MADE: Partial<Record<Framework, readonly string[]>> = {
  next: ['.next/'],
  django: ['__pycache__/'],
}

/** Files of an example that belong to the repository and not to a new project. */
const OWN = /^(?:README\.md|package-lock\.json|tests|node_modules|vendor)(?:[\\/]|$)|__pycache__/

/** The frameworks that the project in this folder has. */
export function detect(folder: string): readonly Framework[] {
  if (existsSync(join(folder, 'manage.py'))) return ['django']
  const path = join(folder, 'package.json')
  if (!existsSync(path)) return []
  const { dependencies = {} } = JSON.parse(readFileSync(path, 'utf8')) as {
    readonly dependencies?: Readonly<Record<string, string>>
  }
  return (Object.keys(FRAMEWORKS) as Framework[]).filter((name) => {
    const dependency = FRAMEWORKS[name]
    return dependency !== null && Object.hasOwn(dependencies, dependency)
  })
}

/** The files of an example by their path in the project, as the repository runs them. */
export function filesOf(framework: Framework): ReadonlyMap<string, Buffer> {
  const unused = UNUSED[framework] ?? []
  const shared = read(join(EXAMPLES, 'site')).filter(([path]) => !unused.includes(path))
  const python = framework === 'django' ? read(PYTHON) : []
  return new Map([...shared, ...python, ...read(join(EXAMPLES, framework))])
}

/** What git must ignore: a credential in a repository is a leaked one. */
export function ignoredBy(framework: Framework): readonly string[] {
  // The guide's curl keeps its login in `cookies`.
  return ['.env', '.bonded/', 'node_modules/', 'cookies', ...(MADE[framework] ?? [])]
}

function read(folder: string): readonly (readonly [path: string, content: Buffer])[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => path.slice(folder.length + 1))
    .filter((path) => !OWN.test(path))
    .map((path) => [path, readFileSync(join(folder, path))] as const)
}
