import { withPointerEvents } from './click-through.ts'
import type { Findings } from './containment.ts'
import { lineOf } from './flat-tree.ts'
import { paints } from './paint.ts'
import type { Reach } from './reach.ts'
import { isRendered } from './rendered.ts'
import { stackAt } from './stack.ts'

/**
 * The samples of each row and column. Their distance is below the size of a finder pattern, and the
 * outermost ones are on the outermost modules.
 */
const SAMPLES = 8
const MARGIN = 0.11
/**
 * A search with pointer events computes the styles of the whole page twice, so it is repeated only
 * this often where the browser does not report when it is due.
 */
const SEARCH_EVERY_MS = 2_000

/** What a browser reports about a target. Not every browser reports `isVisible`. */
export type Sighting = Pick<IntersectionObserverEntry, 'isIntersecting'> & {
  readonly isVisible?: boolean
}

/** What the checks of one container remember. */
export interface Memory {
  /** The newest report about each target. */
  readonly sightings: WeakMap<Element, Sighting>
  /** Elements that have been in front of the target, where a viewer could scroll it free. */
  readonly bars: Set<Element>
  /** The newest search for overlays without pointer events. */
  overlays?: {
    readonly target: Element
    readonly at: number
    readonly found: readonly Element[]
  }
}

/** Checks whether anything is in front of a target, where the target is in view. */
export function checkCovers(
  target: Element,
  {
    reach: { visible, up, down, scrollers },
    memory,
    findings: { broken, unknown },
  }: { reach: Reach; memory: Memory; findings: Findings },
): void {
  const line = lineOf(target)
  const { x, y, width, height } = target.getBoundingClientRect()
  const { bars } = memory
  const sighting = memory.sightings.get(target)
  let isInView = false
  const search = () => {
    const covers = new Set<Element>()
    for (let sample = 0; sample < SAMPLES ** 2; sample += 1) {
      const left = x + width * shareOf(sample % SAMPLES)
      const top = y + height * shareOf(Math.floor(sample / SAMPLES))
      // Browsers find nothing at the last fraction of a pixel before the edge of the window.
      const isPast = left > visible.right - 1 || top > visible.bottom - 1
      if (isPast || left < visible.left || top < visible.top) continue
      isInView = true
      const stack = stackAt(left, top, line)
      for (const cover of stack.covers) covers.add(cover)
      if (stack.covers.length > 0) continue
      if (stack.isUnclear) unknown.add('covered')
      else if (!stack.isHit) broken.add('clipped')
    }
    return [...covers]
  }
  const overlays = () => {
    const now = performance.now()
    const { target: earlier, at = 0, found = [] } = memory.overlays ?? {}
    const isKnown = sighting && sighting.isVisible === undefined && earlier === target
    if (isKnown && now - at < SEARCH_EVERY_MS) return found.filter((cover) => cover.isConnected)
    memory.overlays = { target, at: now, found: withPointerEvents(search) }
    return memory.overlays.found
  }
  /** Whether the target can move independently of a cover: a header, a banner and the like. */
  const isBar = (cover: Element) => {
    const other = lineOf(cover)
    return (
      scrollers.some((scroller) => !other.includes(scroller)) ||
      other.some(
        (element) =>
          !line.includes(element) && /fixed|sticky/.test(getComputedStyle(element).position),
      )
    )
  }
  /** Whether a viewer can scroll the target to a place that all bars leave free. */
  const canEscape = () => {
    const first = Math.max(visible.top, y + up)
    const last = Math.min(visible.bottom - height, y + down)
    const rects = [...bars].filter(isPainted).map((bar) => bar.getBoundingClientRect())
    return [first, ...rects.map(({ bottom }) => bottom)].some(
      (place) =>
        place >= first &&
        place <= last &&
        rects.every(({ top, bottom }) => bottom <= place || top >= place + height),
    )
  }
  let covers: readonly Element[] = search()
  // Nothing can be wrong with what is out of view: no phone can scan it.
  if (!isInView) return
  if (sighting?.isVisible !== undefined && !sighting.isIntersecting) unknown.add('off_screen')
  else if (!sighting?.isVisible) {
    // The first report comes only after the browser has drawn, and not every browser sends one.
    unknown.add('covered')
    if (covers.length === 0) covers = overlays()
  }
  if (covers.length === 0) return
  if (!covers.every(isBar)) return void broken.add('covered')
  for (const cover of covers) bars.add(cover)
  if (!canEscape()) broken.add('covered')
}

/** Whether an element still paints. */
function isPainted(element: Element): boolean {
  const { x, y, width, height } = element.getBoundingClientRect()
  return (
    isRendered(element) &&
    getComputedStyle(element).visibility === 'visible' &&
    paints(element, { x: x + width / 2, y: y + height / 2, isBox: true })
  )
}

/** The place of a sample, as a share of the target's size. */
function shareOf(index: number): number {
  return MARGIN + ((1 - 2 * MARGIN) * index) / (SAMPLES - 1)
}
