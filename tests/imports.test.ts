import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { test } from 'node:test'
import { VENDORED } from '../scripts/packages.ts'

/*
 * Three tools keep the imports in order. `npm run unused` rejects the import of a package that the
 * importing one does not declare. The compiler rejects a relative import that leaves its package,
 * and platform types that a package does not have. Linting rejects imports between the layers of a
 * package (`.oxlintrc.json`). These tests hold their configurations against each other.
 */
const ROOT = resolve(import.meta.dirname, '..')
const LINTER = join(ROOT, 'node_modules/oxlint/bin/oxlint')
const FOLDERS = globSync('{packages,examples}/*/package.json', { cwd: ROOT })
  .map(dirname)
  // The example app is not a workspace.
  .filter(
    (folder) =>
      !/^examples\/(?:ai-sdk|django|express|fastify|hono|next|openai-agents|phone-app|typescript)$/.test(
        folder,
      ),
  )

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** The packages that a package declares for its run time. */
function declaredBy(folder: string): readonly string[] {
  const { dependencies, peerDependencies } = JSON.parse(
    readFileSync(join(ROOT, folder, 'package.json'), 'utf8'),
  ) as Manifest
  const names = Object.keys({ ...dependencies, ...peerDependencies }).flatMap(
    (name) => /^@bonded\/(?:example-)?(.+)$/.exec(name)?.[1] ?? [],
  )
  return [...names, ...(VENDORED[basename(folder)] ?? [])].toSorted()
}

test('the type check covers every package', () => {
  const { references } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8')) as {
    references: readonly { path: string }[]
  }
  const packages = FOLDERS.filter((folder) => folder.startsWith('packages/'))
  const checked = references.map(({ path }) => path)
  assert.deepEqual(
    checked.filter((path) => path.startsWith('packages/')).toSorted(),
    packages.toSorted(),
  )
})

test('the arrows in ARCHITECTURE.md are the dependencies of the packages', () => {
  const text = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8')
  const drawing = /^packages\/contract +imports no[^]*?^```$/m.exec(text)?.[0]
  const drawn: Record<string, string[]> = {}
  let owner = ''
  for (const line of drawing?.split('\n') ?? []) {
    owner = /^(?:packages|examples)\/[\w-]+/.exec(line)?.[0] ?? owner
    const arrow = /──▶ (\w[\w-]*(?:, \w[\w-]*)*)/.exec(line)?.[1]
    if (owner !== '') drawn[owner] = [...(drawn[owner] ?? []), ...(arrow?.split(', ') ?? [])]
  }
  for (const folder of FOLDERS)
    assert.deepEqual((drawn[folder] ?? []).toSorted(), declaredBy(folder), folder)
})

test('no package depends on itself through others', () => {
  const folderOf = (name: string) => FOLDERS.find((folder) => basename(folder) === name) ?? ''
  const visit = (name: string, path: readonly string[]): void => {
    assert.ok(!path.includes(name), [...path, name].join(' → '))
    for (const next of declaredBy(folderOf(name))) visit(next, [...path, name])
  }
  for (const folder of FOLDERS) visit(basename(folder), [])
})

/** The parts of the authenticator that the demo simulates in a browser. */
const SIMULATED_AUTHENTICATOR =
  /@bonded\/(?:simulator|example-)|createAuthenticator|credentials\.get\s*=(?!=)|navigator, 'credentials'|\/demo\/|software-key\.js|passkey\.js/

test('no package of a production service has the simulated authenticator', () => {
  const production = new Set<string>()
  const add = (name: string): void => {
    if (production.has(name)) return
    production.add(name)
    for (const next of declaredBy(join('packages', name))) add(next)
  }
  add('service')
  for (const name of ['cli', 'server', 'core', 'widget', 'phone-page', 'phone'])
    assert.ok(production.has(name), name)
  for (const name of ['sandbox', 'simulator', 'bank', 'demo'])
    assert.ok(!production.has(name), `${name} is not for production`)
  const partsIn = (folder: string) =>
    globSync(`${folder}/{src,bin,browser}/**/*.{ts,tsx,js,mjs,html}`, { cwd: ROOT }).filter(
      (file) => SIMULATED_AUTHENTICATOR.test(readFileSync(join(ROOT, file), 'utf8')),
    )
  for (const name of production) assert.deepEqual(partsIn(`packages/${name}`), [])
  for (const part of ['passkey.js', 'software-key.js'])
    assert.ok(partsIn('examples/demo').includes(`examples/demo/browser/${part}`), part)
})

test('the references of a package are its dependencies', () => {
  for (const folder of FOLDERS) {
    const file = join(ROOT, folder, 'tsconfig.json')
    assert.ok(existsSync(file), file)
    const { references = [] } = JSON.parse(readFileSync(file, 'utf8')) as {
      references?: readonly { readonly path: string }[]
    }
    // The files for browsers that a package serves are compiled in their folder `build`.
    const names = references.map(({ path }) => basename(path.replace(/\/build$/, '')))
    assert.deepEqual(names.toSorted(), declaredBy(folder), folder)
  }
})

/** A statement that a file may not contain. */
const FORBIDDEN: readonly (readonly [file: string, statement: string])[] = [
  // Each kind of syntax, in a folder that may not use Node.
  ['core/src/domain/a.ts', "import { readFileSync } from 'node:fs'"],
  ['core/src/domain/b.ts', "import type { Stats } from 'node:fs'"],
  ['core/src/domain/c.ts', "import 'node:fs'"],
  ['core/src/domain/d.ts', "export { readFileSync } from 'node:fs'"],
  ['core/src/domain/e.ts', "export * from 'node:fs'"],
  ['core/src/domain/f.ts', "await import('node:fs')"],
  ['core/src/domain/g.ts', "import files = require('node:fs')"],
  // Up the layers.
  ['core/src/domain/h.ts', "import '../ports/store.ts'"],
  ['core/src/domain/i.ts', "import '../operations/attest.ts'"],
  ['core/src/ports/a.ts', "import '../operations/attest.ts'"],
  ['core/src/ports/b.ts', "import 'node:fs'"],
  ['core/src/operations/a.ts', "import 'node:fs'"],
  ['store/src/sqlite/a.ts', "import '@bonded/core/operations/phone/attest'"],
  ['store/src/sqlite/b.ts', "import 'node:child_process'"],
  ['store/src/backup/a.ts', "import '@bonded/core/operations/phone/attest'"],
  ['server/src/adapters/keys/a.ts', "import '@bonded/core/operations/phone/attest'"],
  ['server/src/adapters/keys/b.ts', "import '../../http/server.ts'"],
  ['server/src/adapters/keys/c.ts', "import '@bonded/store/sqlite/sqlite-store'"],
  ['server/src/http/a.ts', "import '../adapters/keys/keyring.ts'"],
  ['server/src/http/b.ts', "import '../channel/channel.ts'"],
  ['server/src/http/routes/a.ts', "import '@bonded/store/sqlite/sqlite-store'"],
  ['server/src/http/routes/b.ts', "await import('../../settings/config.ts')"],
  ['server/src/channel/a.ts', "import '../adapters/keys/keyring.ts'"],
  ['server/src/settings/a.ts', "import '../compose.ts'"],
  ['attestation/src/a.ts', "import 'node:fs'"],
  // Past the exports of a package.
  ['../proofs/relay/a.ts', "import '../../packages/server/src/compose.ts'"],
]

test('linting rejects every import up the layers of a package, and past its exports', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-imports-'))
  try {
    cpSync(join(ROOT, '.oxlintrc.json'), join(folder, '.oxlintrc.json'))
    for (const [file, statement] of FORBIDDEN) {
      const path = join(folder, 'packages', file)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, `${statement}\n`)
    }
    const ran = spawnSync(process.execPath, [LINTER, '--format', 'json'], {
      cwd: folder,
      encoding: 'utf8',
    })
    const { diagnostics } = JSON.parse(ran.stdout) as {
      diagnostics: readonly { readonly code: string; readonly filename: string }[]
    }
    const rejected = diagnostics
      .filter(({ code }) => code === 'eslint(no-restricted-imports)')
      .map(({ filename }) => relative('packages', filename).replaceAll('\\', '/'))
    for (const [file, statement] of FORBIDDEN)
      assert.ok(rejected.includes(file), `${statement} in ${file}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
