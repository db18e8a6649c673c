import { withPointerEvents } from './click-through.ts'
import type { Findings } from './containment.ts'
import { lineOf } from './flat-tree.ts'
import type { Reach } from './reach.ts'
import { stackAt } from './stack.ts'

/**
 * The samples of each row and column. Their distance is below the size of a finder pattern, and the
 * outermost ones are on the outermost modules.
 */
const SAMPLES = 8
const MARGIN = 0.11

/** What a browser reports about a target. Not every browser reports `isVisible`. */
export type Sighting = Pick<IntersectionObserverEntry, 'isIntersecting'> & {
  readonly isVisible?: boolean
}

/** Checks whether anything is in front of a target, where the target is in view. */
export function checkCovers(
  target: Element,
  {
    reach: { visible, up, down, scrollers },
    sighting,
    findings: { broken, unknown },
  }: { reach: Reach; sighting: Sighting | undefined; findings: Findings },
): void {
  const line = lineOf(target)
  const { x, y, width, height } = target.getBoundingClientRect()
  let isInView = false
  const search = () => {
    const covers = new Set<Element>()
    for (let sample = 0; sample < SAMPLES ** 2; sample += 1) {
      const left = x + width * shareOf(sample % SAMPLES)
      const top = y + height * shareOf(Math.floor(sample / SAMPLES))
      if (left < visible.left || left > visible.right || top < visible.top || top > visible.bottom)
        continue
      isInView = true
      const stack = stackAt(left, top, line)
      for (const cover of stack.covers) covers.add(cover)
      if (stack.covers.length > 0) continue
      if (stack.isUnclear) unknown.add('covered')
      else if (!stack.isHit) broken.add('clipped')
    }
    return [...covers]
  }
  /** Whether a viewer can scroll the target out from below a header, a banner and the like. */
  const canEscape = (cover: Element) => {
    const other = lineOf(cover)
    const rect = cover.getBoundingClientRect()
    const below = Math.min(visible.bottom - height, y + down)
    const above = Math.max(visible.top, y + up)
    return (
      (scrollers.some((scroller) => !other.includes(scroller)) ||
        other.some(
          (element) =>
            !line.includes(element) && /fixed|sticky/.test(getComputedStyle(element).position),
        )) &&
      (rect.bottom <= below || rect.top >= above + height)
    )
  }
  let covers = search()
  // Nothing can be wrong with what is out of view: no phone can scan it.
  if (!isInView) return
  if (sighting?.isVisible === undefined) unknown.add('covered')
  else if (!sighting.isIntersecting) unknown.add('off_screen')
  else if (!sighting.isVisible) {
    unknown.add('covered')
    if (covers.length === 0) covers = withPointerEvents(search)
  }
  if (!covers.every(canEscape)) broken.add('covered')
}

/** The place of a sample, as a share of the target's size. */
function shareOf(index: number): number {
  return MARGIN + ((1 - 2 * MARGIN) * index) / (SAMPLES - 1)
}
