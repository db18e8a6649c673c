import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { ROOT } from '../../scripts/site/documents.ts'

/** A sample of a document: a fenced block. */
export interface Sample {
  readonly path: string
  /** Counted from 1. */
  readonly line: number
  readonly language: string
  readonly code: string
  /** The comment on the line above: `run by FILE`, `run by FILE and FILE`, or `not run: REASON`. */
  readonly label: string
}

/** The test files that a label names. */
export function testsOf({ label }: Pick<Sample, 'label'>): readonly string[] {
  return /^run by (\S+(?: and \S+)*)$/.exec(label)?.[1]?.split(' and ') ?? []
}

const BLOCK = /(?:^ *<!-- (.+) -->\n)?^( *)```(\w*)\n([\s\S]*?)^\2```$/gm

/** The samples of a document, in order. */
export function samplesOf(path: string): readonly Sample[] {
  const text = readFileSync(join(ROOT, path), 'utf8')
  return [...text.matchAll(BLOCK)].map(
    ([block, label = '', indent = '', language = '', code = ''], index, all) => ({
      path,
      line: text.slice(0, (all[index]?.index ?? 0) + block.indexOf('```')).split('\n').length,
      language,
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      label,
    }),
  )
}

/** Runs a sample of a document with the names that its reader has. Imports are among the names. */
export async function runSample(
  sample: Sample | undefined,
  names: Readonly<Record<string, unknown>>,
  result?: string,
): Promise<unknown> {
  if (sample === undefined) throw new Error('the document has no such sample')
  return runCode(sample.code, names, result)
}

/** The same for the text of a block. */
export async function runCode(
  code: string,
  names: Readonly<Record<string, unknown>>,
  result = 'undefined',
): Promise<unknown> {
  const body = code.replaceAll(/^import .*$/gm, '').replaceAll(/^export /gm, '')
  const source = `export default async ({ ${Object.keys(names).join(', ')} }) => { ${body}\nreturn ${result} }`
  const program = (await import(
    `data:text/javascript,${encodeURIComponent(stripTypeScriptTypes(source))}`
  )) as { default: (given: typeof names) => Promise<unknown> }
  return program.default(names)
}
