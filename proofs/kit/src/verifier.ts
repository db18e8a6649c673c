import { readFileSync } from 'node:fs'
import type { Result } from './cases.ts'
import { tryCommand } from './control.ts'
import type { Members } from './encoding.ts'

/** The files of vectors, by name. */
export const VECTORS = [
  'encodings',
  'payloads',
  'assertions',
  'receipts',
  'quorums',
  'logs',
  'closed-logs',
  'witnesses',
  'webhooks',
] as const

interface VectorFile {
  /** What every input of the file has too. */
  readonly shared?: Members
  readonly tests: readonly {
    readonly id: number
    readonly valid: boolean
    readonly rule: string
    readonly comment: string
    readonly input: Members
  }[]
}

export function readVectors(name: string): VectorFile {
  const file = new URL(`../vectors/${name}.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')) as VectorFile
}

/**
 * Gives the vectors to an adapter, one `check` each. A file that the adapter does not know is left
 * out, and is not counted.
 */
export async function runVerifier(
  adapter: string,
  names: readonly string[] = VECTORS,
): Promise<readonly Result[]> {
  const results: Result[] = []
  for (const name of names) {
    const { shared, tests } = readVectors(name)
    for (const { id, valid, rule, comment, input } of tests) {
      const answer = await tryCommand(adapter, `check/${name}`, { ...shared, ...input }).catch(
        (error: unknown) => ({ valid: String(error) }),
      )
      if (answer === undefined) break
      const expected = valid ? 'valid' : 'invalid'
      const failure = `${name} ${id}, ${comment}: ${expected}, and the answer is ${answer['valid']}`
      results.push(answer['valid'] === valid ? { rule } : { rule, failure })
    }
  }
  return results
}
