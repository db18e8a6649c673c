/** A mistake somebody could make, and the tests that must notice. */
export interface Fault {
  /** What is broken, as a sentence. */
  readonly name: string
  /** From the root of the repository. */
  readonly file: string
  /** Stands in the file exactly once. */
  readonly find: string
  readonly replace: string
  /** From the root of the repository. At least one test of these fails. */
  readonly tests: readonly string[]
}

/** A list row: what is broken, where, what stands there, what a tired person writes, and whose tests notice. */
export type FaultRow = readonly [
  name: string,
  file: string,
  find: string,
  replace: string,
  ...tests: string[],
]

/** The faults of one folder of a package. @param tests.under the folder of the test files that the rows name */
export function faultsIn(
  folder: string,
  { under }: { under: string },
  rows: readonly FaultRow[],
): readonly Fault[] {
  return rows.map(([name, file, find, replace, ...tests]) => ({
    name,
    file: `${folder}/${file}`,
    find,
    replace,
    tests: tests.map((test) => `${under}/${test}.test.ts`),
  }))
}

/** Why the fault cannot be switched on in this text of its file; undefined where it can. */
export function staleness(
  { find, replace }: Pick<Fault, 'find' | 'replace'>,
  source: string,
): string | undefined {
  if (find === replace) return 'it changes nothing'
  const times = source.split(find).length - 1
  return times === 1 ? undefined : `what it replaces stands there ${times} times`
}
