/**
 * Approve ignores taps for this long after its request appeared, or after the page came to the
 * front. A user needs longer to see that a request has changed.
 */
export const INERT_MS = 1_000

/** A monotonic clock in milliseconds, with timers. Events carry its time. */
export interface TapClock {
  now(): number
  schedule(delayMs: number, act: () => void): void
}

/**
 * Decides whether a tap can be meant for what the page shows. An attacker who replaces the request
 * under the user's finger would otherwise have the tap approve the new one.
 */
export interface TapGuard {
  /** Begins the inert time: the content, the visibility or the focus of the page has changed. */
  restart(): void
  /**
   * Whether a tap counts.
   *
   * @param event its time is when the user tapped, which may be before the page learns it
   */
  permits(event: Pick<Event, 'timeStamp'>): boolean
  /** Reports whether taps are ignored: now, and at each change. A later listener replaces it. */
  follow(listener: (isInert: boolean) => void): void
}

export function createTapGuard(clock: TapClock): TapGuard {
  let liveAt = clock.now() + INERT_MS
  let report: (isInert: boolean) => void = () => {}
  let isTimed = false
  const update = () => {
    const leftMs = liveAt - clock.now()
    report(leftMs > 0)
    // A running timer finds a later end by itself.
    if (leftMs <= 0 || isTimed) return
    isTimed = true
    clock.schedule(leftMs, () => {
      isTimed = false
      update()
    })
  }
  return {
    restart() {
      liveAt = clock.now() + INERT_MS
      update()
    },
    permits: ({ timeStamp }) => timeStamp >= liveAt,
    follow(listener) {
      report = listener
      update()
    },
  }
}

/** Restarts the guard whenever the user's attention may have been elsewhere. */
export function watchAttention(page: AttendedPage, guard: Pick<TapGuard, 'restart'>): void {
  for (const type of ['focus', 'blur', 'pageshow'])
    page.addEventListener(type, () => guard.restart())
  page.document.addEventListener('visibilitychange', () => guard.restart())
}

/** The part of a window that reports where the user's attention is. */
interface AttendedPage {
  addEventListener(type: string, listener: () => void): void
  readonly document: { addEventListener(type: string, listener: () => void): void }
}
