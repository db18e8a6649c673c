import { execFileSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { linkInstalled, unpackCommit } from '../nodes/old-build.ts'

const PATHS = ['.npmrc', 'LICENSE', 'package.json', 'packages', 'scripts', 'examples/phone-app']
const TYPE_SETTINGS = ['base', 'build', 'library'].map((name) => `tsconfig.${name}.json`)
const NAMES = ['contract', 'integrator', 'phone', 'widget']

// oxlint-disable-next-line typescript/no-explicit-any -- the types are those of another commit
type Module = any

/** The packages of an earlier commit, as they were packed, in a folder of their own. */
export interface EarlierPackages extends Disposable {
  readonly integrator: Module
  readonly phone: Module
  /** The script of the widget and its other files, by path. A service keeps those of the past. */
  readonly scripts: ReadonlyMap<string, string>
  /** What the example app shows for a failure. */
  readonly sentenceOf: (failure: unknown) => { readonly title: string; readonly body: string }
}

export async function earlierPackages(commit: string): Promise<EarlierPackages> {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-earlier-'))
  try {
    using sources = unpackCommit(commit, [...PATHS, ...TYPE_SETTINGS])
    packInto(folder, sources.folder)
    const load = (path: string): Promise<Module> => import(join(folder, path))
    const { problemOf } = await load('app/session/problem.ts')
    const { en } = await load('app/messages.ts')
    return {
      integrator: await load('node_modules/@bonded/integrator/dist/index.js'),
      phone: await load('node_modules/@bonded/phone/dist/index.js'),
      scripts: scriptsOf(join(folder, 'node_modules/@bonded/widget/dist')),
      sentenceOf: (failure) => en.problems[problemOf(failure)],
      [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
    }
  } catch (failure) {
    rmSync(folder, { recursive: true, force: true })
    throw failure
  }
}

function scriptsOf(dist: string): ReadonlyMap<string, string> {
  const read = (file: string) => readFileSync(join(dist, file), 'utf8')
  const files = JSON.parse(read('pulse-files.json')) as { path: string; source: string }[]
  return new Map([
    ['/v1/pulse.js', read('pulse.js')],
    ...files.map(({ path, source }) => [path, source] as const),
  ])
}

/** Builds and packs the packages of the sources, and installs the tarballs. */
function packInto(folder: string, sources: string): void {
  const { NODE_TEST_CONTEXT: _testContext, ...env } = process.env
  const run = (command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd: sources, env, stdio: ['ignore', 'ignore', 'inherit'] })
  const tarballs = join(folder, 'tarballs')
  run(process.execPath, '--conditions=@bonded/source', 'scripts/build.ts', ...NAMES)
  run(process.execPath, 'scripts/pack.ts', tarballs, ...NAMES)
  linkInstalled(folder)
  for (const name of NAMES) {
    const installed = join(folder, 'node_modules/@bonded', name)
    mkdirSync(installed)
    const [tarball = ''] = globSync(`bonded-${name}-*.tgz`, { cwd: tarballs })
    run('tar', '-xzf', join(tarballs, tarball), '-C', installed, '--strip-components=1')
  }
  run('cp', '-r', join(sources, 'examples/phone-app/src'), join(folder, 'app'))
}
