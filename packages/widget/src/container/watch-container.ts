import { bare } from '@bonded/contract'
import type { Containment } from './containment.ts'
import type { Memory } from './covers.ts'
import { drawnIn, judge, type Parts } from './judge.ts'

const CHECK_MS = 500
/**
 * A better verdict counts once it has lasted this long, so that a cover that blinks never shows the
 * QR code.
 */
const SETTLING_MS = 400
/**
 * Time for a dialog to open, a cookie banner to be answered or an overlay to pass. The QR code is
 * hidden meanwhile, so the time gives an attacker nothing.
 */
export const GRACE_MS = 10_000
/** The shortest delay that browsers allow. */
const SIGHTING_DELAY_MS = 100

/** What follows from the verdicts. */
export interface ContainerEvents {
  /** The verdict has changed. */
  readonly onContainment: (containment: Containment) => void
  /** A breach has lasted longer than the grace. Nothing is reported after it. */
  readonly onLastingBreach: () => void
  /** The check itself failed. Nothing is reported after it. */
  readonly onFailure: (cause: unknown) => void
}

/** The watch over a container. */
export interface ContainerWatch {
  /** Resolves when the container first meets the contract, as far as the browser can tell. */
  readonly ready: Promise<void>
  /** Judges the container now, as after a change of what is drawn. */
  readonly check: () => void
  readonly stop: () => void
}

/** Judges a container until stopped, and dispatches an event for each change. */
export function watchContainer(
  parts: Parts,
  { onContainment, onLastingBreach, onFailure }: ContainerEvents,
): ContainerWatch {
  // The verdicts as text: the one that was dispatched, and the newest one with its time.
  let current = ''
  let newest = ''
  let newestSince = 0
  let breachedSince: number | undefined
  let resolveReady!: () => void
  const ready = new Promise<void>((resolve) => (resolveReady = resolve))
  const memory: Memory = { sightings: new WeakMap(), bars: new Set() }

  const judgeNow = () => {
    const now = performance.now()
    const drawn = drawnIn(parts)
    // The browser takes an element that it already observes as observed.
    if (drawn) observer.observe(drawn)
    const containment = judge(parts, memory)
    const isBreached = containment.verdict === 'breached'
    const text = JSON.stringify(containment)
    if (text !== newest) newestSince = now
    newest = text
    if (!isBreached) resolveReady()
    if (text !== current && (isBreached || now - newestSince >= SETTLING_MS)) {
      current = text
      breachedSince = isBreached ? (breachedSince ?? now) : undefined
      const detail = Object.freeze(containment)
      parts.container.dispatchEvent(
        new CustomEvent('pulse:containment', bare({ detail, bubbles: true, composed: true })),
      )
      onContainment(detail)
    }
    if (breachedSince !== undefined && now - breachedSince >= GRACE_MS) {
      stop()
      onLastingBreach()
    }
  }
  const check = () => {
    try {
      judgeNow()
    } catch (cause) {
      // A check that cannot run must not leave an unchecked QR code.
      stop()
      onFailure(cause)
    }
  }
  // It reports what a page cannot measure: frames around the page, and overlays of any kind.
  const observer = new IntersectionObserver(
    (entries) => {
      // The browser also reports a QR code that is no longer drawn, as out of view.
      for (const entry of entries)
        if (entry.target.isConnected) memory.sightings.set(entry.target, entry)
      check()
    },
    bare({ trackVisibility: true, delay: SIGHTING_DELAY_MS, threshold: [0, 1] }),
  )
  const checking = setInterval(check, CHECK_MS)
  const stop = () => {
    clearInterval(checking)
    observer.disconnect()
  }
  observer.observe(parts.card)
  check()
  return { ready, check, stop }
}
