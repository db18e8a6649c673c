import { createReading } from '@bonded/phone'

/** The requests that the user has read in this tab, by their content. */
export type ReadRequests = Set<string>

/** Follows what has been in view of a request. */
export interface ReadToEnd {
  /** Whether all of it has been in view, and before the event. */
  permits(event: Pick<Event, 'timeStamp'>): boolean
  /** Scrolls to what has not been in view. */
  readOn(): void
  /** Measures the document. Call it once the request is in it, and after each change. */
  measure(): void
}

export interface ReadToEndOptions {
  /** What the request says. Where the user has read the same before, there is nothing to follow. */
  readonly content: string
  readonly read: ReadRequests
  readonly parts: readonly HTMLElement[]
  /** How long the end of the last part is in view before the request counts as read. */
  readonly endMs: number
  /** The last part that is in view at once with those before it. */
  readonly lead: HTMLElement
  /** The actions, which stay at the bottom of the view where the lead fits above them. */
  readonly actions: HTMLElement
  /** Called with each measurement. */
  readonly onMeasured: (hasUnread: boolean) => void
}

/** Rounding of a layout, in pixels. */
const SLACK_PX = 1
/** What stays in view of the text before, so that a reader finds the place, in pixels. */
const OVERLAP_PX = 24

/**
 * Measures the places of all parts: one that is taller than the view is in view only bit by bit,
 * and the actions cover the end of the view.
 */
export function readToEnd(options: ReadToEndOptions): ReadToEnd {
  const { content, read, parts, endMs, lead, actions, onMeasured } = options
  const reading = createReading(parts.length)
  let readAt = read.has(content) ? 0 : Infinity
  /** Since when the end has been in view, after all the rest. */
  let endSince = Infinity
  const placeOf = (part: HTMLElement) => part.getBoundingClientRect()
  const see = (start: number, end: number) => {
    parts.forEach((part, index) => {
      const { top, height } = placeOf(part)
      const at = (y: number) => (y - top) / height
      if (height > 0) reading.see(index, at(start - SLACK_PX), at(end + SLACK_PX))
    })
    const bottom = placeOf(parts.at(-1) ?? lead).bottom
    const isAtEnd = endMs === 0 || (bottom > start && bottom <= end + SLACK_PX)
    return isAtEnd && !reading.next()
  }
  const measure = () => {
    const leadEnd = placeOf(lead).bottom + scrollY
    actions.classList.toggle('at-end', leadEnd + actions.offsetHeight > innerHeight)
    // A zoomed page shows a part of the window.
    const { offsetTop: start, height: shown } = visualViewport ?? {
      offsetTop: 0,
      height: innerHeight,
    }
    const end = Math.min(start + shown, placeOf(actions).top)
    if (readAt === Infinity) {
      const now = performance.now()
      if (document.visibilityState !== 'visible' || !see(start, end)) endSince = Infinity
      else if (endSince === Infinity) {
        endSince = now
        setTimeout(measure, endMs)
      }
      if (now - endSince >= endMs) {
        readAt = now
        read.add(content)
      }
    }
    onMeasured(readAt === Infinity)
  }
  return {
    permits: ({ timeStamp }) => timeStamp >= readAt,
    readOn() {
      const next = reading.next()
      const part = next && parts[next.part]
      if (!part) return
      const { top, height } = placeOf(part)
      scrollBy(0, top + next.from * height - OVERLAP_PX)
    },
    measure,
  }
}
