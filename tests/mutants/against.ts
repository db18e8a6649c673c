import type { Attack, Mutant } from './mutant.ts'

/**
 * The mutants of one attack. A row is name, file, text, replacement, the test file that must fail,
 * and, where the file has slow tests before that, how the name of the failing one begins.
 */
export function against(attack: Attack, rows: readonly Row[]): readonly Mutant[] {
  return rows.map(([name, file, find, replace, tests, begin]) => ({
    attack,
    name,
    file,
    find,
    replace,
    noticedBy: { file: tests, ...(begin !== undefined && { begin }) },
  }))
}

type Row = readonly [
  name: string,
  file: string,
  find: string,
  replace: string,
  tests: string,
  begin?: string,
]

export const [ATTESTATION, CIBA, CLI, CONTRACT, CORE, INTEGRATOR, SERVER, STORE] = [
  'packages/attestation',
  'packages/ciba',
  'packages/cli',
  'packages/contract',
  'packages/core',
  'packages/integrator',
  'packages/server',
  'packages/store',
]
