/** The kind of attack that the mutant would allow. */
export type Attack =
  | 'forged'
  | 'replayed'
  | 'relayed'
  | 'cross-tenant'
  | 'leaked'
  | 'doubled'
  | 'raced'
  | 'unrecorded'

/** A planted fault: a mistake that opens one attack, and the tests of which one must fail. */
export interface Mutant {
  readonly attack: Attack
  /** What the mutated service does, as a sentence. */
  readonly name: string
  /** The path from the root of the repository. */
  readonly file: string
  /** Occurs in the file exactly once. */
  readonly find: string
  readonly replace: string
  readonly noticedBy: Tests
}

/** Tests of which at least one fails. */
export interface Tests {
  /** The path from the root of the repository. */
  readonly file: string
  /** How their names begin. Without it, all tests of the file, up to the one that fails. */
  readonly begin?: string
}

/** Returns why the mutant cannot be planted in this text of its file; undefined if it can. */
export function misfit(
  { find, replace }: Pick<Mutant, 'find' | 'replace'>,
  source: string,
): string | undefined {
  if (find === replace) return 'it changes nothing'
  const times = source.split(find).length - 1
  return times === 1 ? undefined : `the text to replace occurs ${times} times`
}
