/**
 * Tries a promise of the protocol page. Throws when the target does not keep it, and returns
 * `stopped` when the target did not get as far, which the page allows.
 */
export type Run<T> = (target: T) => Promise<void | 'stopped'>

/** Cases by their rules: the section of the protocol page, and what it demands. */
export type Cases<T> = Readonly<Record<string, Run<T>>>

/** What came of a case. */
export interface Result {
  readonly rule: string
  /** Undefined if the target kept the rule. */
  readonly failure?: string
  readonly isStopped?: boolean
}

/** Runs cases one after another: they share the target. */
export async function runCases<T>(cases: Cases<T>, target: T): Promise<readonly Result[]> {
  const results: Result[] = []
  for (const [rule, run] of Object.entries(cases)) {
    const outcome = run(target).then(
      (how) => ({ isStopped: how === 'stopped' }),
      (error: unknown) => ({ failure: error instanceof Error ? error.message : String(error) }),
    )
    results.push({ rule, ...(await outcome) })
  }
  return results
}

/** The lines of a report: each failure with its rule, what was not tried, and `N of M`. */
export function report(results: readonly Result[]): readonly string[] {
  const failed = results.filter(({ failure }) => failure !== undefined)
  return [
    ...failed.map(({ rule, failure }) => `not kept  ${rule}\n          ${failure}`),
    ...results.flatMap(({ rule, isStopped }) => (isStopped ? [`stopped   ${rule}`] : [])),
    `${results.length - failed.length} of ${results.length}`,
  ]
}
