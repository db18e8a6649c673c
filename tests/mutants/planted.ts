import { readFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { RUNNING } from './stopping-test.ts'

/*
 * The process that runs the tests of many mutants, one after another, as its parent asks. Each time
 * it evaluates all modules of the repository anew, by a number in their addresses. Installed
 * packages are shared: loading these took most of the time of a process for each mutant.
 */

/** What the parent asks for. */
export interface Question {
  readonly number: number
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
/** Sources by path, with what is left of them without types. Most are the same for each mutant. */
const stripped = new Map<string, { readonly source: string; readonly code: string }>()

registerHooks({
  resolve(specifier, context, next) {
    const [number] = NUMBERED.exec(context.parentURL ?? '') ?? []
    if (number === undefined) return next(specifier, context)
    if (specifier === 'node:test' && !context.parentURL?.startsWith(STOPPING))
      return { url: STOPPING + number, format: 'module', shortCircuit: true }
    const found = next(specifier, context)
    const isOwn = found.url.endsWith('.ts') && !found.url.includes('/node_modules/')
    return isOwn ? { ...found, url: found.url + number } : found
  },
  load(url, context, next) {
    if (!NUMBERED.test(url)) return next(url, context)
    return { format: 'module', source: codeOf(fileURLToPath(url)), shortCircuit: true }
  },
})

function codeOf(path: string): string {
  const source = readFileSync(path, 'utf8')
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
  process.channel?.unref()
  void answer(question).then((found) => {
    asked = undefined
    process.channel?.ref()
    process.send?.(found)
  })
})
