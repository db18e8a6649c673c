import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { minVersion, satisfies } from 'semver'
import { repositoryFiles } from '../scripts/repository-files.ts'

const ROOT = resolve(import.meta.dirname, '..')

interface Lockfile {
  readonly packages: Readonly<
    Record<string, { readonly version?: string; readonly engines?: { readonly node?: string } }>
  >
}

test('every package of the lockfile accepts the oldest Node that may install the repository', () => {
  const { packages } = JSON.parse(
    readFileSync(resolve(ROOT, 'package-lock.json'), 'utf8'),
  ) as Lockfile
  const oldest = minVersion(packages['']?.engines?.node ?? '')
  assert.equal(oldest?.major, 20)
  // The last release of that version, which has all of its security fixes.
  const rejecting = Object.entries(packages).filter(
    ([, { engines }]) => engines?.node !== undefined && !satisfies('20.20.2', engines.node),
  )
  assert.deepEqual(
    rejecting.map(([path, { version, engines }]) => `${path} ${version}: ${engines?.node}`),
    [],
  )
})

test('every npm script starts with a launcher that finds the pinned Node, or is a program of a package', () => {
  const { devDependencies, workspaces } = JSON.parse(
    readFileSync(resolve(ROOT, 'package.json'), 'utf8'),
  ) as { devDependencies: Record<string, string>; workspaces: readonly string[] }
  const programs = Object.keys(devDependencies).flatMap((name) => {
    const { bin = {} } = JSON.parse(
      readFileSync(resolve(ROOT, 'node_modules', name, 'package.json'), 'utf8'),
    ) as { bin?: string | Record<string, string> }
    return typeof bin === 'string' ? [name] : Object.keys(bin)
  })
  const manifests = globSync(['package.json', ...workspaces.map((one) => `${one}/package.json`)], {
    cwd: ROOT,
  })
  const all = manifests.flatMap((path) => {
    const { scripts = {} } = JSON.parse(readFileSync(resolve(ROOT, path), 'utf8')) as {
      scripts?: Record<string, string>
    }
    return Object.values(scripts).map((script) => `${path}: ${script}`)
  })
  assert.ok(all.some((script) => script.startsWith('examples/bank/')))
  // npm runs "node" with its own Node where it has not linked the pinned one, as npm 10 does.
  const others = all.filter(
    (script) =>
      !/: (?:node (?:(?:..\/){2})?scripts\/run|node packages\/service\/bin\/bonded)\.js /.test(
        script,
      ) &&
      !/: npm --prefix ..\/.. run /.test(script) &&
      !programs.includes(/: (\S+)/.exec(script)?.[1] ?? ''),
  )
  assert.deepEqual(others, [])
})

/** Where the Node of the reader, or of a job, runs a source, and not the pinned one. */
const OTHER_NODE = [
  // It sets up each supported version.
  '.github/workflows/libraries.yml',
  // Projects of their own, which the reader copies.
  'examples/agents/README.md',
  'examples/ai-sdk/package.json',
  'examples/openai-agents/package.json',
  'examples/typescript/package.json',
]

test('no command in a document, a script, or a workflow relies on the link of npm 11 to the pinned Node', () => {
  const files = repositoryFiles().filter(
    (path) =>
      /\.(?:md|json|js|mjs|ts|ya?ml|sh)$|^\.ci\/|^deploy\//.test(path) &&
      !/^docs\/decisions\/|CHANGELOG\.md$|package-lock\.json$/.test(path) &&
      path !== 'tests/oldest-node.test.ts',
  )
  const relying = files.flatMap((path) =>
    [
      ...readFileSync(resolve(ROOT, path), 'utf8').matchAll(
        /\bnpx (?:-\S+ )*node\b|\.bin\/node\b|\bnode (?:-\S+ )*(?:--conditions=@bonded\/source|[\w./-]+\.ts\b).*/g,
      ),
    ].map(([command]) => `${path}: ${command}`),
  )
  assert.deepEqual(
    relying.filter((each) => !OTHER_NODE.some((path) => each.startsWith(`${path}: `))),
    [],
  )
  assert.equal(relying.length, OTHER_NODE.length, 'each exception is there')
})
