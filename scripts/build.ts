import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { inOrder, NAMES, PACKAGES, SCOPE, VENDORED } from './packages.ts'

/**
 * `npm run build`: compiles each package into its `dist`, with types and source maps, in the order
 * of their dependencies. `npm run build -- service` builds one package and what it depends on.
 */
const ROOT = resolve(import.meta.dirname, '..')
const COMPILER = join(ROOT, 'node_modules/typescript/bin/tsc')

const wanted = process.argv.slice(2)
for (const name of inOrder(wanted.length === 0 ? NAMES : wanted)) {
  const startedMs = performance.now()
  await build(name)
  console.log(`built ${SCOPE}${name} in ${Math.round(performance.now() - startedMs)} ms`)
}

async function build(name: string): Promise<void> {
  const folder = join(PACKAGES, name)
  const dist = join(folder, 'dist')
  rmSync(dist, { recursive: true, force: true })
  compile(folder)
  if (existsSync(join(folder, 'build/tsconfig.json'))) compile(join(folder, 'build'))
  if (name === 'contract') await makeSchemasLean(dist)
  for (const other of VENDORED[name] ?? []) vendor(dist, other)
  if (name === 'widget') await writePulseScript(dist)
  if (name === 'phone-page') await writePhonePage(dist)
  if (name === 'sandbox') {
    copyExamples(dist)
    copyPhone(join(ROOT, 'examples/demo'), join(dist, 'examples/demo'))
  }
  // npm packs only the license in the package's own folder.
  copyFileSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
}

function compile(folder: string): void {
  const config = existsSync(join(folder, 'tsconfig.build.json')) ? 'tsconfig.build.json' : '.'
  const { status } = spawnSync(process.execPath, [COMPILER, '-p', join(folder, config)], {
    stdio: 'inherit',
  })
  if (status !== 0) throw new Error(`${folder} does not compile`)
}

/** The OpenAPI document has the descriptions of schemas. Without them, bundles are 2 kB smaller. */
async function makeSchemasLean(dist: string): Promise<void> {
  const { leanSchemaSource } = await import('../packages/phone-page/build/bundle.ts')
  for (const file of globSync('schemas/*.js', { cwd: dist })) {
    const path = join(dist, file)
    writeFileSync(path, leanSchemaSource(readFileSync(path, 'utf8')))
  }
}

/** Copies the compiled code of another package into `dist`, and points its imports there. */
function vendor(dist: string, name: string): void {
  cpSync(join(PACKAGES, name, 'dist'), join(dist, name), { recursive: true })
  for (const file of globSync('**/*.{js,d.ts}', { cwd: dist })) {
    const path = join(dist, file)
    const text = readFileSync(path, 'utf8')
    const target = relative(dirname(path), join(dist, name, 'index.js')).replaceAll('\\', '/')
    const specifier = target.startsWith('.') ? target : `./${target}`
    const named = text.replaceAll(
      new RegExp(`((?:from|import)\\s*\\(?\\s*)(["'])${SCOPE}${name}\\2`, 'g'),
      `$1$2${specifier}$2`,
    )
    if (named !== text) writeFileSync(path, named)
  }
}

/** `bonded init` writes the examples from these copies. */
function copyExamples(dist: string): void {
  const isLeftOut = (path: string) => /[\\/](?:node_modules|vendor|tests)$/.test(path)
  for (const name of ['site', 'express', 'typescript', 'fastify', 'hono', 'next', 'django'])
    cpSync(join(ROOT, 'examples', name), join(dist, 'examples', name), {
      recursive: true,
      filter: (path) => !isLeftOut(path),
    })
  // The example with Django has a copy of the package: no registry has it.
  cpSync(join(PACKAGES, 'python/src/bonded'), join(dist, 'examples/python/bonded'), {
    recursive: true,
    filter: (path) => !path.endsWith('__pycache__'),
  })
}

/** `bonded try` has the demo's phone, whose sources a published package cannot run. */
function copyPhone(from: string, to: string): void {
  for (const file of ['src/phone/software-phone.ts', 'src/pages/markup.ts']) {
    const target = join(to, file.replace(/\.ts$/, '.js'))
    mkdirSync(dirname(target), { recursive: true })
    const code = stripTypeScriptTypes(readFileSync(join(from, file), 'utf8'))
    writeFileSync(target, code.replaceAll(/(from '\.[^']+)\.ts'/g, "$1.js'"))
  }
  mkdirSync(join(to, 'browser'), { recursive: true })
  for (const name of ['software-key.js', 'passkey.js'])
    copyFileSync(join(from, 'browser', name), join(to, 'browser', name))
}

/** A published service serves these files, and needs no bundler. */
async function writePulseScript(dist: string): Promise<void> {
  const { loadPulseScript } = await import('../packages/widget/build/bundle.ts')
  const { source, sourceMap, files } = await loadPulseScript()
  writeFileSync(join(dist, 'pulse.js'), source)
  writeFileSync(join(dist, 'pulse.js.map'), sourceMap)
  writeFileSync(join(dist, 'pulse-files.json'), JSON.stringify(files))
}

async function writePhonePage(dist: string): Promise<void> {
  const { bundle } = await import('../packages/phone-page/build/bundle.ts')
  const { script, style, languages, start, documentWords, frame, portal, inbox, serviceWorker } =
    await bundle()
  writeFileSync(join(dist, 'phone-page-languages.json'), JSON.stringify(languages))
  writeFileSync(join(dist, 'phone-page-start.js'), start)
  writeFileSync(join(dist, 'phone-page-document-words.json'), JSON.stringify(documentWords))
  writeFileSync(join(dist, 'phone-page.js'), script)
  writeFileSync(join(dist, 'phone-page.css'), style)
  writeFileSync(join(dist, 'browser-frame.js'), frame.script)
  writeFileSync(join(dist, 'browser-frame.css'), frame.style)
  writeFileSync(join(dist, 'webhook-portal.js'), portal.script)
  writeFileSync(join(dist, 'webhook-portal.css'), portal.style)
  writeFileSync(join(dist, 'inbox.js'), inbox.script)
  writeFileSync(join(dist, 'inbox.css'), inbox.style)
  writeFileSync(join(dist, 'inbox-worker.js'), serviceWorker)
}
