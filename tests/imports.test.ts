import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { ALLOWED, type Manifest, violations } from './imports/fence.ts'

const ROOT = resolve(import.meta.dirname, '..')
const FILES = globSync('{packages,examples,tests,scripts,bench}/**/*.{ts,js,mts,mjs,cts,cjs,tsx}', {
  cwd: ROOT,
  exclude: (path) => /(?:^|\/)(?:node_modules|dist)$/.test(path),
})
const manifests = new Map<string, Manifest>()

function manifest(folder: string): Manifest {
  const known =
    manifests.get(folder) ??
    (JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as Manifest)
  manifests.set(folder, known)
  return known
}

function textOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

test('the table of the fence allows every import of the repository', () => {
  assert.ok(FILES.length > 300)
  const found = FILES.flatMap((file) => violations({ file, text: textOf(file), manifest }))
  assert.deepEqual(found, [])
})

test('the table of the fence names only packages that the importing package depends on', () => {
  for (const [folder, names] of Object.entries(ALLOWED)) {
    const own = /^(?:packages|examples)\/[\w-]+/.exec(folder)?.[0]
    // The example app has a lockfile of its own.
    if (own === undefined || own === 'examples/phone-app') continue
    const { dependencies, devDependencies, peerDependencies } = manifest(own)
    const known = { ...dependencies, ...devDependencies, ...peerDependencies }
    const strangers = names
      .filter((name) => !/^node:|^\(computed\)$|^(?:packages|examples|tests|scripts)\//.test(name))
      .map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name)
      .filter((name) => !(name in known))
    assert.deepEqual(strangers, [], folder)
  }
})

test('the arrows in ARCHITECTURE.md are the imports between packages that the table allows', () => {
  const drawing = /^packages\/contract +imports no[^]*?^```$/m.exec(textOf('ARCHITECTURE.md'))?.[0]
  const drawn: Record<string, string[]> = {}
  let owner = ''
  for (const line of drawing?.split('\n') ?? []) {
    owner = /^(?:packages|examples)\/[\w-]+/.exec(line)?.[0] ?? owner
    const arrow = /──▶ (\w[\w-]*(?:, \w[\w-]*)*)/.exec(line)?.[1]
    if (owner !== '') drawn[owner] = [...(drawn[owner] ?? []), ...(arrow?.split(', ') ?? [])]
  }
  const permitted: Record<string, string[]> = {}
  for (const [folder, names] of Object.entries(ALLOWED)) {
    const [, own = ''] = /^((?:packages|examples)\/[\w-]+)/.exec(folder) ?? []
    // The example app is not a workspace, so the drawing omits it.
    if (own === 'examples/phone-app') continue
    const others = names.flatMap((name) => /^@bonded\/(?:example-)?(.+)$/.exec(name)?.[1] ?? [])
    permitted[own] = [...new Set([...(permitted[own] ?? []), ...others])]
  }
  const sorted = (all: Record<string, string[]>) =>
    Object.entries(all)
      .map(([own, others]) => `${own} → ${others.toSorted().join(', ')}`)
      .toSorted()
  assert.deepEqual(sorted(drawn), sorted(permitted))
})

/** A statement that the file may not contain, and the name that the fence reports. */
const FORBIDDEN: readonly (readonly [file: string, statement: string, named?: string])[] = [
  // Each kind of syntax, in a folder that may not use Node.
  ['packages/core/src/domain/session.ts', "import { readFileSync } from 'node:fs'"],
  ['packages/core/src/domain/session.ts', "import type { Stats } from 'node:fs'"],
  ['packages/core/src/domain/session.ts', "import 'node:fs'"],
  ['packages/core/src/domain/session.ts', "import { readFileSync } from 'fs'", 'fs'],
  ['packages/core/src/domain/session.ts', "export { readFileSync } from 'node:fs'"],
  ['packages/core/src/domain/session.ts', "export * from 'node:fs'"],
  ['packages/core/src/domain/session.ts', "export * as files from 'node:fs'"],
  ['packages/core/src/domain/session.ts', "export type { Stats } from 'node:fs'"],
  ['packages/core/src/domain/session.ts', "await import('node:fs')"],
  ['packages/core/src/domain/session.ts', 'await import(`node:fs`)'],
  ['packages/core/src/domain/session.ts', "await import('node:' + 'fs')", '(computed)'],
  ['packages/core/src/domain/session.ts', "let files: import('node:fs').Stats | undefined"],
  ['packages/core/src/domain/session.ts', "let files: typeof import('node:fs')"],
  ['packages/core/src/domain/session.ts', "import files = require('node:fs')"],
  ['packages/core/src/domain/session.ts', "require('node:fs')"],
  ['packages/core/src/domain/session.ts', "require.resolve('node:fs')"],
  ['packages/core/src/domain/session.ts', "process.getBuiltinModule('node:fs')"],
  ['packages/core/src/domain/session.ts', "globalThis.process['getBuiltinModule']('node:fs')"],
  ['packages/core/src/domain/session.ts', "const f = () => (() => import('node:fs'))()"],
  ['packages/core/src/domain/session.ts', "/// <reference types='node' />", 'node'],
  ['packages/core/src/domain/session.ts', "import.meta.resolve('node:fs')"],
  [
    'packages/server/src/settings/config.ts',
    "import { createRequire as r } from 'node:module'; r(import.meta.url)('left-pad')",
    'left-pad',
  ],
  [
    'packages/server/src/settings/config.ts',
    "const load = createRequire(import.meta.url); load('left-pad')",
    'left-pad',
  ],
  [
    'packages/server/src/settings/config.ts',
    'const load = createRequire(import.meta.url); export { load }',
    '(computed)',
  ],
  ['packages/server/src/settings/config.ts', 'const alias = createRequire', '(computed)'],
  // Up the layers of the service.
  ['packages/core/src/domain/session.ts', "import '../ports/store.ts'"],
  ['packages/core/src/ports/store.ts', "import '../operations/attest.ts'"],
  ['packages/core/src/operations/attest.ts', "import '../adapters/sql/sqlite-store.ts'"],
  ['packages/core/src/operations/attest.ts', "import '../http/server.ts'"],
  ['packages/store/src/sqlite/sqlite-store.ts', "import '../../operations/attest.ts'"],
  ['packages/store/src/sqlite/sqlite-store.ts', "import '../../compose.ts'"],
  ['packages/server/src/http/server.ts', "import '../adapters/sql/sqlite-store.ts'"],
  ['packages/server/src/http/server.ts', "import '../channel/channel.ts'"],
  ['packages/server/src/http/server.ts', "new Worker(new URL('../cli/main.ts', import.meta.url))"],
  [
    'packages/server/src/http/server.ts',
    'new URL(`../cli/${name}.ts`, import.meta.url)',
    '../cli/*',
  ],
  ['packages/server/src/http/server.ts', "new Worker('../cli/main.ts')"],
  // Between packages.
  ['packages/contract/src/ids.ts', "import '@bonded/phone'", '@bonded/phone'],
  ['packages/phone/src/phone.ts', "import '@bonded/service'", '@bonded/service'],
  ['packages/phone/src/phone.ts', "import '../../contract/src/ids.ts'"],
  ['packages/phone/src/phone.ts', "import '../tests/harness.ts'"],
  ['packages/integrator/src/gate.ts', "import 'node:crypto'"],
  ['packages/widget/src/bond.ts', "import '@bonded/widget/script'"],
  ['packages/server/src/http/server.ts', "import '@bonded/simulator'"],
  // A package that happens to be installed, and one that only the tests declare.
  ['packages/server/src/compose.ts', "import 'avvio'"],
  ['packages/phone/src/phone.ts', "import 'ws'"],
  ['packages/phone/tests/harness.ts', "import 'fastify'"],
  // Neither a package nor a file.
  ['packages/widget/src/bond.ts', "import 'https://example.com/x.js'", 'https://example.com/x.js'],
  ['packages/widget/src/bond.ts', "import('data:text/javascript,1')"],
  ['packages/widget/src/bond.ts', "import '/etc/passwd'"],
  ['packages/widget/src/bond.ts', "import '#inner'"],
]

test('the fence rejects every kind of import that the table does not allow', () => {
  for (const [file, statement, named] of FORBIDDEN) {
    const whole = textOf(file)
    const text = `${whole}\n${statement}\n`
    const added = violations({ file, text, manifest }).filter((one) => one.startsWith(`${file}:`))
    const expected = named ?? /['`]([^'`]+)['`](?!.*['`])/.exec(statement)?.[1] ?? ''
    assert.ok(
      added.some((one) => one.includes(` ${expected} (`)),
      `${statement} in ${file}: ${JSON.stringify(added)}`,
    )
  }
})

test('the fence rejects a source file that no row of the table covers', () => {
  for (const file of ['packages/service/new-folder/x.ts', 'packages/stranger/src/x.ts'])
    assert.equal(violations({ file, text: 'export {}', manifest }).length, 1, file)
})

test('the fence rejects a file that does not parse', () => {
  const file = 'packages/contract/src/ids.ts'
  assert.throws(() => violations({ file, text: "import { from 'x'", manifest }), SyntaxError)
})
