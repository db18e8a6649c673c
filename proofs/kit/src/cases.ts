/** Tries a promise of the protocol page. Throws when the target does not keep it. */
export type Run<T> = (target: T) => Promise<void>

/** Cases by their rules: the section of the protocol page, and what it demands. */
export type Cases<T> = Readonly<Record<string, Run<T>>>

/** What came of a case. */
export interface Result {
  readonly rule: string
  /** Undefined if the target kept the rule. */
  readonly failure?: string
}

/** Runs cases one after another: they share the target. */
export async function runCases<T>(cases: Cases<T>, target: T): Promise<readonly Result[]> {
  const results: Result[] = []
  for (const [rule, run] of Object.entries(cases)) {
    try {
      await run(target)
      results.push({ rule })
    } catch (error) {
      results.push({ rule, failure: error instanceof Error ? error.message : String(error) })
    }
  }
  return results
}

/** The lines of a report: each failure with its rule, and `N of M`. */
export function report(results: readonly Result[]): readonly string[] {
  const failed = results.filter(({ failure }) => failure !== undefined)
  return [
    ...failed.map(({ rule, failure }) => `not kept  ${rule}\n          ${failure}`),
    `${results.length - failed.length} of ${results.length}`,
  ]
}
