import { ownMembers } from '@bonded/contract'
import { element } from './dom.ts'

/** One line of what the page says is being approved: a label and a value. */
export type Pair = readonly [label: string, value: string]

/**
 * The pairs in the `display` of a context; none for anything else, because a part of the request
 * would read as all of it. They are the page's words, so the widget asks the user to compare them
 * with the phone's.
 */
export function readPairs(context: unknown): readonly Pair[] {
  const display = ownMembers(context)?.['display']
  if (!Array.isArray(display)) return []
  const pairs = display.flatMap((entry): Pair[] => {
    const { label, value } = ownMembers(entry) ?? {}
    return typeof label === 'string' && typeof value === 'string' ? [[label, value]] : []
  })
  return pairs.length === display.length ? pairs : []
}

/**
 * The rows of a description list. Each text keeps its own direction, so a space between them is
 * right in either.
 */
export function pairRows(pairs: readonly Pair[]): HTMLElement[] {
  return pairs.map(([label, value]) =>
    element(
      'div',
      {},
      element('dt', { dir: 'auto' }, label),
      ' ',
      element('dd', { dir: 'auto' }, value),
    ),
  )
}
