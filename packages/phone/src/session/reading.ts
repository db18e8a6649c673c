/**
 * What of a request has been in view on the phone's screen. A user can have read only that, so a
 * phone accepts an approval after all of it.
 */
export interface Reading {
  /**
   * Notes that a stretch of a part is in view.
   *
   * @param part the position of the part in the request
   * @param from where the stretch begins, as a fraction of the part's height
   * @param to where it ends. What is outside of the part is cut off.
   */
  see(part: number, from: number, to: number): void
  /** The first stretch that has not been in view; undefined once everything has been. */
  next(): Unread | undefined
}

/** Where reading continues. */
export interface Unread {
  readonly part: number
  /** The part's height above the unread place, as a fraction. */
  readonly from: number
}

/** Less than a pixel of a part that is as tall as ten screens: what rounding takes. */
const ROUNDING = 0.0001

/**
 * Starts the reading of a request.
 *
 * @param parts how many parts it has, such as the rows of its context
 * @example
 *   const reading = createReading(rows.length)
 *   // After the layout, on every scroll, and on every change of a size, for each row:
 *   reading.see(row, (viewTop - top) / height, (viewBottom - top) / height)
 *   const isApprovable = reading.next() === undefined
 */
export function createReading(parts: number): Reading {
  /** The stretches of each part that have been in view. They do not touch each other. */
  const seen: Stretch[][] = Array.from({ length: parts }, () => [])
  return {
    see(part, from, to) {
      const before = seen[part]
      let [start, end] = [Math.max(0, from), Math.min(1, to)]
      // Also false for NaN.
      if (before === undefined || !(start < end)) return
      const apart = before.filter(([first, last]) => {
        if (last < start - ROUNDING || first > end + ROUNDING) return true
        start = Math.min(start, first)
        end = Math.max(end, last)
        return false
      })
      seen[part] = [...apart, [start, end]]
    },
    next() {
      for (let part = 0; part < parts; part++) {
        const from = seen[part]?.find(([first]) => first <= ROUNDING)?.[1] ?? 0
        if (from < 1 - ROUNDING) return { part, from }
      }
      return undefined
    },
  }
}

type Stretch = readonly [from: number, to: number]
