/** Few enough to keep memory small. */
const AT_ONCE = 64

/** Does the work for each item, some at a time, and answers in their order. */
export async function inBatches<Item, Answer>(
  items: readonly Item[],
  work: (item: Item) => Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let at = 0; at < items.length; at += AT_ONCE)
    answers.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map(work))))
  return answers
}
