import type { Findings } from './containment.ts'
import { lineOf } from './flat-tree.ts'

/** The names of an axis: of its start, its size, and the parts of longer names. */
const AXES = [
  ['x', 'width', 'Left', 'Width', 'X'],
  ['y', 'height', 'Top', 'Height', 'Y'],
] as const
/** Less than the quiet zone of the QR code. */
const TOLERANCE_PX = 4

/** Where a target can appear, in CSS pixels of the viewport. */
export interface Reach {
  /** The part of the viewport that the ancestors of the target leave to it now. */
  readonly visible: DOMRect
  /** How far a viewer can scroll the target up (negative) and down. */
  readonly up: number
  readonly down: number
  /** The ancestors, but not the page, that a viewer can scroll. */
  readonly scrollers: readonly Element[]
}

/**
 * Finds where a viewer can bring a target by scrolling, and reports a target that no scrolling
 * brings into view as a whole. A target that is merely scrolled out of view breaks no rule.
 *
 * @param isWhole whether the target has to fit into every box as a whole. Otherwise a viewer can
 *   scroll from part to part
 */
export function checkReach(target: Element, isWhole: boolean, findings: Findings): Reach {
  const [chain, isFixed] = boxesOf(target)
  const box = target.getBoundingClientRect()
  const visible = new DOMRect()
  const scrollers: Element[] = []
  let up = 0
  let down = 0
  for (const [axis, length, side, size, name] of AXES) {
    let from = Number.NEGATIVE_INFINITY
    let to = Number.POSITIVE_INFINITY
    // Follows the target while a viewer scrolls it into one box after the other.
    let place = box[axis]
    let isMoved = false
    up = 0
    down = 0
    for (const [element, style, isPage] of chain) {
      const overflow = style[`overflow${name}`]
      isMoved ||= style.transform !== 'none'
      if (overflow === 'visible' && !isPage) continue
      const isScrollable = !/hidden|clip/.test(overflow)
      const extent = element[`client${size}`]
      const start = isPage ? 0 : element.getBoundingClientRect()[axis] + element[`client${side}`]
      const end = start + extent
      from = Math.max(from, start)
      to = Math.min(to, end)
      // How far scrolling moves the content, back (negative) and forth.
      const room = isPage && isFixed ? 0 : element[`scroll${size}`] - extent
      const startsAtEnd =
        axis === 'x' ? style.direction === 'rtl' : style.flexDirection === 'column-reverse'
      const back = room && element[`scroll${side}`] - (startsAtEnd ? 0 : room)
      const forth = back + room
      if (isScrollable && room > 0) {
        if (!isPage) scrollers.push(element)
        up += back
        down += forth
      }
      const toStart = start - place
      const toEnd = end - place - box[length]
      // A viewer can zoom out of a small window, but not out of a small box of the page.
      if (toStart > toEnd + TOLERANCE_PX && !isPage && (isWhole || !isScrollable))
        findings.broken.add('clipped')
      const shift = Math.max(Math.min(toStart, toEnd), Math.min(0, Math.max(toStart, toEnd)))
      const isReachable = shift > back - TOLERANCE_PX && shift < forth + TOLERANCE_PX
      if (Math.abs(shift) >= TOLERANCE_PX && !(isReachable && isScrollable)) {
        const isOutside = place + box[length] <= start || place >= end
        // A script can bring back the slide of a carousel, or unlock the scrolling of the page.
        const canReturn = isPage ? isReachable : isOutside && (isMoved || isReachable)
        findings[canReturn ? 'unknown' : 'broken'].add(
          isOutside || isPage ? 'off_screen' : 'clipped',
        )
        break
      }
      place += shift
    }
    visible[axis] = from
    visible[length] = Math.max(0, to - from)
  }
  return { visible, up, down, scrollers }
}

type Box = readonly [element: Element, style: CSSStyleDeclaration, isPage?: boolean]

/**
 * The boxes that a target's position depends on, innermost first, the page last; and whether the
 * target is fixed to the viewport, so that scrolling the page does not move it.
 */
function boxesOf(target: Element): readonly [readonly Box[], isFixed: boolean] {
  const boxes: Box[] = []
  const root = document.documentElement
  // The overflow of the root, or else that of the body, applies to the viewport.
  const carrier = getComputedStyle(root).overflow === 'visible' ? document.body : root
  let { position } = getComputedStyle(target)
  for (const element of lineOf(target).slice(1)) {
    const style = getComputedStyle(element)
    if (
      !/^(contents|inline)$/.test(style.display) &&
      (!/absolute|fixed/.test(position) ||
        (position === 'absolute' && style.position !== 'static') ||
        style.transform !== 'none' ||
        style.filter !== 'none')
    ) {
      position = style.position
      if (element !== root && element !== carrier) boxes.push([element, style])
    }
  }
  boxes.push([document.scrollingElement ?? root, getComputedStyle(carrier), true])
  return [boxes, position === 'fixed']
}
