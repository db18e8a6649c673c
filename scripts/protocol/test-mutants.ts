import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Outcome, Tester } from '../../tests/mutants/tester.ts'
import type { TableMutant } from './table-mutants.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const CORE = resolve(ROOT, 'packages/core')
/** A mutant takes some milliseconds, and leaves few modules. Tests that never end notice theirs. */
const LIMITS = { timeoutMs: 60_000, mutantsAProcess: 250 }

/** The file of each table, which a test of the same path must hold. */
const FILES: Readonly<Record<TableMutant['table'], string>> = {
  CHECKS: 'protocol/checks',
  MOVES: 'protocol/states',
  STATES: 'protocol/states',
  TERMINAL: 'protocol/states',
  DEVICE_MOVES: 'domain/device-moves',
}

/** A changed table, and how its tests ended. */
export interface Tested {
  readonly mutant: TableMutant
  readonly outcome: Outcome
}

/**
 * Runs the tests of the protocol's tables once for each change of them, in a process that evaluates
 * the changed module anew. The working tree stays unchanged.
 */
export async function testTableMutants(
  mutants: readonly TableMutant[],
): Promise<readonly Tested[]> {
  using tester = new Tester(ROOT, LIMITS)
  const outcomeOf = ({ table, changed }: Pick<TableMutant, 'table' | 'changed'>) => {
    const name = FILES[table]
    const path = resolve(CORE, `src/${name}.ts`)
    return tester.outcomeOf({
      changed: path,
      source: withTable(readFileSync(path, 'utf8'), table, changed),
      file: resolve(CORE, `tests/${name}.test.ts`),
      begin: '',
    })
  }
  for (const table of ['CHECKS', 'MOVES', 'DEVICE_MOVES'] as const) {
    const unchanged = await outcomeOf({ table, changed: 'table' })
    if (unchanged.kind !== 'passed') throw new Error(`unchanged: ${JSON.stringify(unchanged)}`)
  }
  const tested: Tested[] = []
  for (const mutant of mutants) tested.push({ mutant, outcome: await outcomeOf(mutant) })
  return tested
}

/** The source of a module that exports an expression over its table instead of it. */
function withTable(source: string, table: string, changed: string): string {
  const exported = `export const ${table}`
  if (source.split(exported).length !== 2) throw new Error(`no single ${exported}`)
  const written = source.replace(exported, 'const asWritten')
  return `${written}\nexport const ${table} = ((table) => (${changed}))(asWritten)\n`
}
