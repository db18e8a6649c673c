import { readFileSync } from 'node:fs'
import { createRequire, registerHooks, stripTypeScriptTypes } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { RUNNING } from './stopping-test.ts'

/*
 * The process that runs the tests of many mutants, one after another, as its parent asks. Each time
 * it evaluates anew what reaches the mutant's file through its imports, and each file with tests,
 * by a number in their addresses. All other modules are shared: loading them took most of the time
 * of a process for each mutant.
 */

/** What the parent asks for. */
export interface Question {
  readonly number: number
  /** The path of the file that the mutant is in. */
  readonly changed: string
  /** The text of that file with the mutant. Without it, the file itself has the mutant. */
  readonly source?: string
  readonly file: string
  readonly begin: string
}

/** The first test that failed; what went wrong outside of a test; neither if all have passed. */
export interface Answer {
  readonly failed?: string
  readonly broken?: string
  /** Whether the process ends, because of an error that no test caught. */
  readonly ends?: boolean
}

const STOPPING = pathToFileURL(`${import.meta.dirname}/stopping-test.ts`).href
const NUMBERED = /\?mutant=\d+$/
const IMPORT = /(?:\bfrom|\bimport|\bimport\() ?'([^']+)'/g
/** Sources by path, with what is left of them without types. Most are the same for each mutant. */
const stripped = new Map<string, { readonly source: string; readonly code: string }>()
/** The modules by path that each module imports, and whether it imports `node:test`. */
const imports = new Map<string, { readonly paths: readonly string[]; readonly hasTests: boolean }>()
/** Whether a module must be evaluated anew for the mutant of the question. */
let affected = new Map<string, boolean>()

registerHooks({
  resolve(specifier, context, next) {
    const { parentURL = '' } = context
    if (asked === undefined || parentURL.includes('/node_modules/')) return next(specifier, context)
    const number = `?mutant=${asked.number}`
    if (specifier === 'node:test' && parentURL.endsWith(number) && !parentURL.startsWith(STOPPING))
      return { url: STOPPING + number, format: 'module', shortCircuit: true }
    const found = next(specifier, context)
    const { url } = found
    const isOwn = url.startsWith('file:') && url.endsWith('.ts') && !url.includes('/node_modules/')
    return isOwn && isAffected(fileURLToPath(url)) ? { ...found, url: url + number } : found
  },
  load(url, context, next) {
    if (!NUMBERED.test(url)) return next(url, context)
    return { format: 'module', source: codeOf(fileURLToPath(url)), shortCircuit: true }
  },
})

function isAffected(path: string): boolean {
  const known = affected.get(path)
  if (known !== undefined) return known
  // Of modules that import each other, the first one decides.
  affected.set(path, false)
  const { paths, hasTests } = importsOf(path)
  const is = path === asked?.changed || hasTests || paths.some(isAffected)
  affected.set(path, is)
  return is
}

function importsOf(path: string) {
  const known = imports.get(path)
  if (known !== undefined) return known
  const { resolve } = createRequire(path)
  const names = [...codeOf(path).matchAll(IMPORT)].map(([, name = '']) => name)
  const all = {
    paths: names
      .filter((name) => /^\.|^@bonded\//.test(name))
      .map((name) => resolve(name))
      .filter((found) => found.endsWith('.ts')),
    hasTests: names.includes('node:test'),
  }
  imports.set(path, all)
  return all
}

function codeOf(path: string): string {
  const source = (path === asked?.changed && asked.source) || readFileSync(path, 'utf8')
  const known = stripped.get(path)
  if (known?.source === source) return known.code
  const code = stripTypeScriptTypes(source)
  stripped.set(path, { source, code })
  return code
}

async function answer({ number, file, begin }: Question): Promise<Answer> {
  const of = `?mutant=${number}`
  try {
    await import(pathToFileURL(file).href + of)
    const { firstFailure } = (await import(STOPPING + of)) as typeof import('./stopping-test.ts')
    const failed = await firstFailure(begin)
    return failed === undefined ? {} : { failed }
  } catch (cause) {
    return { broken: String(cause) }
  }
}

let asked: Question | undefined

/** Ends the process, which a test has left in an unknown state. */
function end(): void {
  process.send?.({ failed: runningTest(), ends: true } satisfies Answer, () => process.exit(1))
}

function runningTest(): string {
  return String(Reflect.get(globalThis, RUNNING) ?? asked?.file)
}

process.on('uncaughtException', end)
// Nothing can resolve what a test awaits.
process.on('beforeExit', () => {
  if (asked !== undefined) end()
})
process.on('message', (question: Question) => {
  asked = question
  affected = new Map()
  process.channel?.unref()
  void answer(question).then((found) => {
    asked = undefined
    process.channel?.ref()
    process.send?.(found)
  })
})
