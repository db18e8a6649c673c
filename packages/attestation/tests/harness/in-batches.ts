/** A small number, because each task holds its input in memory. */
const BATCH_SIZE = 64

/** Runs the work for each item in batches, and returns the results in order. */
export async function inBatches<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let index = 0; index < items.length; index += BATCH_SIZE)
    results.push(...(await Promise.all(items.slice(index, index + BATCH_SIZE).map(work))))
  return results
}
