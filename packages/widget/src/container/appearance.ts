import type { Findings } from './containment.ts'
import { lineOf } from './flat-tree.ts'

/**
 * Below this opacity a user cannot read the widget. A form that a page dims while it waits stays
 * above.
 */
export const LEAST_OPACITY = 0.5
/** Filters that make a black and white picture hard to read. */
const HARMFUL = /blur\((?!0px)|invert\((?!0\))|url\(|(brightness|contrast|opacity)\(0(\.[0-4]|\))/

/** Checks the styles of an element and all its ancestors. */
export function checkAppearance(element: Element, { broken, unknown }: Findings): void {
  let opacity = 1
  for (const ancestor of lineOf(element)) {
    const style = getComputedStyle(ancestor)
    opacity *= Number(style.opacity)
    if ((ancestor as HTMLElement).inert) broken.add('not_interactive')
    if (HARMFUL.test(style.filter) || style.mixBlendMode !== 'normal') broken.add('filtered')
    // A scrolling area often fades its edges with a mask, and a user can scroll them free.
    if (style.maskImage !== 'none') (style.overflow === 'visible' ? broken : unknown).add('masked')
  }
  if (opacity < LEAST_OPACITY) broken.add('transparent')
}
