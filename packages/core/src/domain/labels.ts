import type { SessionContext } from '@bonded/contract'
import { isHighlyRestrictive, lookalikeKeys } from './lookalikes.ts'
import { RESERVED_LABELS } from './reserved-labels.ts'

/** A label that could mislead the user, by its path in the body, and why. */
export interface LabelProblem {
  readonly param: string
  readonly detail: string
}

interface ReadLabel {
  readonly keys: readonly string[]
  readonly detail: string | undefined
}

/** Signs that read as a verification of the name beside them. */
const CHECK_MARK = /[\u221a\u237b\u2611\u2705\u2713\u2714\u{10102}\u{1f5f8}\u{1f5f9}]/u

/** A tenant sends the same labels again and again. */
const MAX_CACHED = 1_000
const cached = new Map<string, ReadLabel>()
/** Made at the first use, so that a start does not wait for it. */
let reserved: ReadonlyMap<string, string> | undefined

/** The first member of a context that could mislead the user. Undefined if there is none. */
export function findContextProblem({
  display,
  requester,
  text,
}: SessionContext): LabelProblem | undefined {
  // A user reads a sentence before a page of parameters.
  if (text !== undefined && display.length === 0)
    return { param: 'context.display', detail: 'A context with a text needs at least one pair.' }
  const detail = requester && read(requester.name).detail
  if (detail !== undefined) return { param: 'context.requester.name', detail }
  for (const member of ['name', 'detail'] as const)
    if (CHECK_MARK.test(requester?.[member] ?? ''))
      return {
        param: `context.requester.${member}`,
        detail: 'A check mark reads as a verification.',
      }
  return findLabelProblem(display)
}

/**
 * The first label that imitates another one, or one of the phone's own. Undefined if there is none.
 */
export function findLabelProblem(
  display: readonly { readonly label: string }[],
): LabelProblem | undefined {
  const seen = new Set<string>()
  for (const [index, { label }] of display.entries()) {
    const { keys, detail } = read(label)
    const param = `context.display.${index}.label`
    if (detail !== undefined) return { param, detail }
    if (keys.some((key) => seen.has(key)))
      return { param, detail: 'The label looks like another label of this context.' }
    for (const key of keys) seen.add(key)
  }
  return undefined
}

function read(label: string): ReadLabel {
  const known = cached.get(label)
  if (known !== undefined) return known
  reserved ??= new Map(
    RESERVED_LABELS.flatMap((own) => lookalikeKeys(own).map((key) => [key, own])),
  )
  const keys = lookalikeKeys(label)
  const own = keys.map((key) => reserved?.get(key)).find((found) => found !== undefined)
  const detail = !isHighlyRestrictive(label)
    ? 'A word of the label mixes scripts, or has letters that are not in general use.'
    : own !== undefined
      ? `The label looks like "${own}", which is a reserved label: phones show it themselves.`
      : undefined
  if (cached.size >= MAX_CACHED) cached.clear()
  const result = { keys, detail }
  cached.set(label, result)
  return result
}
