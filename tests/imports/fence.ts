import { dirname, join, normalize } from 'node:path'
import { VENDORED } from '../../scripts/vendored.ts'
import { type Import, readImports } from './read-imports.ts'

const [CORE, STORE, SERVER, CLI, SANDBOX] = [
  'packages/core/src',
  'packages/store/src',
  'packages/server/src',
  'packages/cli/src',
  'packages/sandbox/src',
]
const APP = 'examples/phone-app'

/**
 * What each folder may import besides itself: other folders of its package, and packages and
 * `node:` modules by name. The longest matching folder decides. The fence rejects every other
 * import, and every source file outside all folders.
 */
export const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  // The wire: neither Node nor a DOM.
  'packages/contract/src': ['typebox'],
  // Independent of the service, so that other projects can use it.
  'packages/attestation/src': ['cborg', 'node:buffer', 'node:crypto'],
  // An optional peer, which only this entry imports.
  'packages/attestation/src/brainpool': ['@noble/curves', 'packages/attestation/src'],
  'packages/phone/src': ['@bonded/contract'],
  'packages/integrator/src': ['@bonded/contract'],
  'packages/widget/src': [
    '@bonded/contract',
    'packages/widget/src/loading',
    'packages/widget/src/npm',
  ],
  // Parts of the npm package that the hosted script does not contain.
  'packages/widget/src/npm': ['@bonded/contract', 'packages/widget/src', 'react'],
  // The only import of an address: a module of the service, with its integrity value.
  'packages/widget/src/loading': ['(computed)', 'packages/widget/src'],
  'packages/widget/build': [
    'esbuild',
    'node:crypto',
    'node:fs/promises',
    'node:path',
    'node:url',
    'node:vm',
    'terser',
  ],
  'packages/phone-page/src': ['@bonded/contract', '@bonded/phone', 'uqr'],
  'packages/phone-page/build': [
    'esbuild',
    'node:buffer',
    'node:crypto',
    'node:fs/promises',
    'node:url',
  ],
  'packages/simulator/src': [
    '@bonded/contract',
    '@bonded/phone',
    'node:buffer',
    'node:crypto',
    'node:fs',
    'node:fs/promises',
    'node:path',
    'node:timers/promises',
    'pngjs',
    'qr',
  ],
  // The rules, without I/O: the domain receives the facts and the time.
  [`${CORE}/domain`]: ['@bonded/contract', 'unhomoglyph'],
  [`${CORE}/collections`]: [],
  [`${CORE}/ports`]: ['@bonded/contract', `${CORE}/domain`],
  [`${CORE}/operations`]: ['@bonded/contract', `${CORE}/domain`, `${CORE}/ports`, 'node:net'],
  [STORE]: [
    '@bonded/contract',
    '@bonded/core',
    'node:crypto',
    'node:fs',
    'node:fs/promises',
    'node:path',
    'node:perf_hooks',
    'node:sqlite',
    'node:tls',
    'pg',
  ],
  // Runs pg_dump and pg_restore.
  [`${STORE}/backup`]: [
    '@bonded/contract',
    '@bonded/core',
    STORE,
    'node:child_process',
    'node:crypto',
    'node:fs',
    'node:fs/promises',
    'node:os',
    'node:path',
    'node:sqlite',
    'node:tls',
  ],
  [`${SERVER}/adapters`]: [
    '@bonded/attestation',
    '@bonded/contract',
    '@bonded/core',
    'jose',
    'node:crypto',
    'node:fs',
    'node:fs/promises',
    'node:http',
    'node:net',
    'node:os',
    'node:path',
    'node:perf_hooks',
    'node:worker_threads',
    'prom-client',
  ],
  // Uses adapters through ports.
  [`${SERVER}/http`]: [
    '@bonded/contract',
    '@bonded/core',
    'ajv',
    'fast-json-stringify',
    'fastify',
    'node:buffer',
    'node:crypto',
    'node:http',
    'node:net',
    'node:stream',
    'node:timers/promises',
    'node:util',
    'node:zlib',
    'pino',
    'qr',
    'typebox',
  ],
  // A refusal, a view and a log line are the same in a response and in a frame.
  [`${SERVER}/channel`]: ['@bonded/contract', '@bonded/core', `${SERVER}/http`, 'node:http', 'ws'],
  [`${SERVER}/settings`]: [
    '@bonded/attestation',
    '@bonded/contract',
    '@bonded/core',
    '@bonded/store',
    `${SERVER}/adapters`,
    `${SERVER}/http`,
    'node:crypto',
    'node:fs',
    'node:module',
    'node:net',
    'node:path',
    'tldts',
    'yaml',
  ],
  // Beside the folders: the files that compose them.
  [SERVER]: [
    '@bonded/contract',
    '@bonded/core',
    '@bonded/store',
    `${SERVER}/adapters`,
    `${SERVER}/channel`,
    `${SERVER}/http`,
    `${SERVER}/settings`,
    'fastify',
    'node:events',
    'node:fs',
    'node:net',
    'node:timers/promises',
    'pino',
  ],
  [CLI]: [
    '@bonded/contract',
    '@bonded/core',
    '@bonded/phone-page',
    '@bonded/server',
    '@bonded/store',
    '@bonded/widget',
    'commander',
    'node:fs',
    'node:fs/promises',
    'node:net',
    'node:path',
    'node:timers/promises',
    'pino',
    'typebox',
  ],
  // Starts and kills processes on a database of its own.
  [SANDBOX]: [
    '@bonded/cli',
    '@bonded/contract',
    '@bonded/core',
    '@bonded/example-bank',
    '@bonded/example-demo',
    '@bonded/server',
    '@bonded/simulator',
    'commander',
    'node:buffer',
    'node:child_process',
    'node:crypto',
    'node:events',
    'node:fs',
    'node:net',
    'node:os',
    'node:path',
    'node:timers/promises',
    'pino',
  ],
  // The only computed import is the optional sandbox.
  'packages/service/src': ['(computed)', '@bonded/cli', 'commander'],
  'packages/service/bin': [
    'node:child_process',
    'node:fs',
    'node:path',
    'node:process',
    'node:url',
  ],
  'examples/bank/src': [
    '@bonded/integrator',
    'examples/bank/browser',
    'node:crypto',
    'node:fs/promises',
    'node:http',
    'node:net',
  ],
  'examples/bank/browser': [],
  'examples/demo/src': [
    '@bonded/contract',
    '@bonded/phone',
    '@bonded/simulator',
    'examples/demo/browser',
    'node:buffer',
    'node:crypto',
    'node:fs/promises',
    'node:http',
    'node:net',
    'node:stream',
    'ws',
  ],
  'examples/demo/browser': [],
  // The app: what runs without React Native, then its bindings and screens.
  [`${APP}/src/signers`]: ['@bonded/contract', '@bonded/phone'],
  [`${APP}/src/device`]: ['@bonded/phone', `${APP}/src/signers`],
  [`${APP}/src/session`]: ['@bonded/contract', '@bonded/phone', `${APP}/src/device`],
  [`${APP}/src`]: [`${APP}/src/session`],
  [`${APP}/src/native`]: [
    '@bonded/phone',
    '@expo/app-integrity',
    `${APP}/modules`,
    `${APP}/src`,
    `${APP}/src/device`,
    `${APP}/src/session`,
    `${APP}/src/signers`,
    'expo',
    'expo-constants',
    'expo-crypto',
    'expo-local-authentication',
    'expo-secure-store',
    'expo-sensors',
    'react-native',
  ],
  [`${APP}/src/screens`]: [
    '@bonded/phone',
    `${APP}/src`,
    `${APP}/src/native`,
    `${APP}/src/session`,
    'expo-camera',
    'react',
    'react-native',
    'react-native-safe-area-context',
  ],
  [`${APP}/modules`]: [`${APP}/src/signers`, 'expo'],
  [APP]: [`${APP}/src/native`, `${APP}/src/screens`, 'expo'],
}

/** Tests, benchmarks and scripts may import every folder, but only declared packages. */
const UNFENCED = /^(?:(?:packages|examples)\/[^/]+\/)?(?:tests|scripts|bench)\//

/** Runs before a package is packed, so it may use development dependencies. */
const BUILD_TIME = /^packages\/[^/]+\/build\//

/** The members of a `package.json` that name other packages. */
export interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

export interface Source {
  /** Path from the root of the repository, with `/`. */
  readonly file: string
  readonly text: string
  /** Path of a folder from the root of the repository; `''` is the root. */
  readonly manifest: (folder: string) => Manifest
}

/** Returns each import that the table does not allow, as `file:line specifier (kind): why`. */
export function violations(source: Source): readonly string[] {
  const unfenced = UNFENCED.test(source.file)
  const folder = unfenced ? undefined : folderOf(source.file)
  if (!unfenced && folder === undefined)
    return [`${source.file}: no row of the table holds this file`]
  return readImports(source.file, source.text).flatMap((found) => {
    const reason =
      folder === undefined ? undeclared(found, source) : refusal(found, { folder, source })
    return reason === undefined
      ? []
      : [`${source.file}:${found.line} ${found.specifier} (${found.kind}): ${reason}`]
  })
}

function refusal(
  found: Import,
  { folder, source }: { folder: string; source: Source },
): string | undefined {
  const { specifier } = found
  if (specifier.startsWith('.')) return relative(found, { folder, source })
  const name = packageOf(specifier)
  if (!allowed(folder).includes(name)) return `${folder} may not use it`
  return undeclared(found, source)
}

function relative(
  { specifier }: Import,
  { folder, source }: { folder: string; source: Source },
): string | undefined {
  const target = normalize(join(dirname(source.file), specifier))
  const own = ownerOf(source.file)
  if (target === own || `${target}/` === `${own}/`) return undefined
  if (!target.startsWith(`${own}/`)) return 'it leaves the package; import the package by its name'
  if (UNFENCED.test(target)) return 'it is for tests only'
  const reached = folderOf(target)
  // A file outside every code folder is data, such as package.json.
  if (reached === undefined)
    return /\.[cm]?[jt]sx?\*?$/.test(target) ? 'no row of the table holds it' : undefined
  return reached === folder || allowed(folder).includes(reached)
    ? undefined
    : `${folder} may not import ${reached}`
}

/** An import of a package that its own package does not declare works only by chance. */
function undeclared({ specifier }: Import, { file, manifest }: Source): string | undefined {
  if (!isBare(specifier)) return undefined
  const name = packageOf(specifier)
  const [own, root] = [manifest(ownerOf(file)), manifest('')]
  const declared = UNFENCED.test(file)
    ? [own.dependencies, own.devDependencies, root.devDependencies]
    : BUILD_TIME.test(file)
      ? [own.dependencies, own.devDependencies]
      : [own.dependencies, own.peerDependencies]
  const isWorkspace = UNFENCED.test(file) && name.startsWith('@bonded/')
  return isWorkspace ||
    isVendored(file, name) ||
    declared.some((names) => names !== undefined && Object.hasOwn(names, name))
    ? undefined
    : `package.json of ${ownerOf(file)} does not declare it`
}

/** Whether the tarball of this file's package contains the other package. */
function isVendored(file: string, name: string): boolean {
  const owner = ownerOf(file).replace('packages/', '')
  return (VENDORED[owner] ?? []).some((vendored) => name === `@bonded/${vendored}`)
}

function allowed(folder: string): readonly string[] {
  return ALLOWED[folder] ?? []
}

function folderOf(path: string): string | undefined {
  return Object.keys(ALLOWED)
    .filter((folder) => path === folder || path.startsWith(`${folder}/`))
    .toSorted((one, other) => other.length - one.length)[0]
}

/** The folder of the package that a file belongs to; `''` for the root package. */
function ownerOf(file: string): string {
  return /^(?:packages|examples)\/[^/]+/.exec(file)?.[0] ?? ''
}

function isBare(specifier: string): boolean {
  return /^(?:@[\w-]+\/)?[\w-]/.test(specifier) && !specifier.includes(':')
}

/** `@scope/name/deep` belongs to the package `@scope/name`. A `node:` module is its own package. */
function packageOf(specifier: string): string {
  if (specifier.startsWith('node:')) return specifier
  return /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier
}
