import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

/** A copy of its own: the loader remembers for each module what its imports resolve to. */
const { bondedProgram } = (await import(
  `${import.meta.resolve('../src/program.ts')}?missing-part`
)) as typeof import('../src/program.ts')

/** Loads a command whose package has these files in an installation of its own. */
async function failureWith(files: Readonly<Record<string, string>>): Promise<unknown> {
  const root = mkdtempSync(join(tmpdir(), 'bonded-part-'))
  const folder = join(root, 'node_modules/@bonded/console')
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  writeFileSync(join(root, 'importer.mjs'), '')
  const parentURL = pathToFileURL(join(root, 'importer.mjs')).href
  const hooks = registerHooks({
    resolve: (specifier, context, next) =>
      next(specifier, specifier === '@bonded/console' ? { ...context, parentURL } : context),
  })
  try {
    return await bondedProgram({ name: 'console', isSilent: true }).catch((error: unknown) => error)
  } finally {
    hooks.deregister()
    rmSync(root, { recursive: true, force: true })
  }
}

test('a package that lacks one of its own is installed, and the failure names the one it lacks', async () => {
  const failure = await failureWith({
    'package.json': '{"name":"@bonded/console","type":"module","exports":"./index.js"}',
    'index.js': `import 'absent-dependency'`,
  })
  assert.match(String(failure), /Cannot find package 'absent-dependency'/)
})
