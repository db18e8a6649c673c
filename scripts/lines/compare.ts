export interface Ceiling {
  readonly ceiling: number
  /** Why there is one: a sentence. */
  readonly reason: string
}

/** What is wrong with the figures, and what to do about it: a text for each. */
export function compare(
  figures: ReadonlyMap<string, number>,
  ceilings: Readonly<Record<string, Ceiling>>,
): readonly string[] {
  const known = new Map(Object.entries(ceilings))
  const exceeded = [...figures].flatMap(([name, figure]) => {
    const limit = known.get(name)
    if (limit === undefined) return [`${name}: has no ceiling. Add it to scripts/ceilings.ts.`]
    const excess = figure - limit.ceiling
    if (excess <= 0) return []
    return [
      `${name}: ${figure} exceeds the ceiling of ${limit.ceiling} by ${excess}. ${limit.reason} Remove ${excess} or more. Raise the ceiling in scripts/ceilings.ts only by a number that an accepted issue names.`,
    ]
  })
  const useless = [...known.keys()]
    .filter((name) => !figures.has(name))
    .map((name) => `${name}: is not counted. Delete its ceiling in scripts/ceilings.ts.`)
  return [...exceeded, ...useless]
}
