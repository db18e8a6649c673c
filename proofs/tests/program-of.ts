import { resolve } from 'node:path'

/** The arguments with which Node runs a proof, as its script in `package.json` has them. */
export function programOf(proof: 'durability' | 'relay'): readonly string[] {
  return [
    '--conditions=@bonded/source',
    '--disable-warning=ExperimentalWarning',
    resolve(import.meta.dirname, `../${proof}/main.ts`),
  ]
}
