import type { Attack, Mutant } from './mutant.ts'

/**
 * The mutants of one attack. A row is name, file, text, replacement, and the tests that must fail.
 */
export function against(attack: Attack, rows: readonly Row[]): readonly Mutant[] {
  return rows.map(([name, file, find, replace, ...tests]) => ({
    attack,
    name,
    file,
    find,
    replace,
    tests,
  }))
}

type Row = readonly [name: string, file: string, find: string, replace: string, ...tests: string[]]

export const [ATTESTATION, CONTRACT, CORE, INTEGRATOR, SERVER, STORE] = [
  'packages/attestation',
  'packages/contract',
  'packages/core',
  'packages/integrator',
  'packages/server',
  'packages/store',
]
