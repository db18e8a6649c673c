import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The outputs that an example states, in the comment after each `console.log`. */
export function statedOutput(code: string): readonly string[] {
  return [...code.matchAll(/^console\.log\(.*\) \/\/ (.*)$/gm)].map(([, output = '']) => output)
}

/** Runs an example as JavaScript, and returns what it prints. */
export async function outputOf(code: string): Promise<readonly string[]> {
  // Inside the package, so that its name resolves.
  const folder = mkdtempSync(join(import.meta.dirname, 'example-'))
  const printed: string[] = []
  const original = console.log
  console.log = (...values: unknown[]) => void printed.push(values.join(' '))
  try {
    const file = join(folder, 'example.mjs')
    writeFileSync(file, code)
    await import(pathToFileURL(file).href)
    return printed
  } finally {
    console.log = original
    rmSync(folder, { recursive: true })
  }
}
