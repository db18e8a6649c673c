import { paints } from './paint.ts'

/** What is in front of a target at a point. */
export interface Stack {
  /** The elements that paint over the target. */
  readonly covers: readonly Element[]
  /** Whether anything else is in front, which may or may not paint. */
  readonly isUnclear: boolean
  /** Whether the target itself is at the point. */
  readonly isHit: boolean
}

/** Finds what is in front of a target at a point. `line` is the target with its ancestors. */
export function stackAt(x: number, y: number, line: readonly Element[]): Stack {
  const stack = document.elementsFromPoint(x, y)
  // A document finds the hosts of shadow roots only.
  const index = stack.indexOf(line.find((element) => element.getRootNode() === document)!)
  const isHit = index >= 0
  const above = isHit
    ? stack.slice(0, index)
    : // A modal dialog makes the rest of the page inert, so that only its ancestors are found.
      stack.filter((element) => !line.includes(element))
  // An ancestor that is also below the target is in front by a pseudo-element only.
  const covers = above.filter((element) =>
    paints(element, { x, y, isBox: !isHit || !stack.includes(element, index) }),
  )
  return { covers, isUnclear: above.length > covers.length, isHit }
}
