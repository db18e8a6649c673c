import { checkAppearance } from './appearance.ts'
import type { Containment, Findings } from './containment.ts'
import { checkCovers, type Memory } from './covers.ts'
import { checkReach } from './reach.ts'
import { checkSize } from './size.ts'

/** The parts of the widget that its page can hide. */
export interface Parts {
  readonly container: HTMLElement
  /** All that the widget draws. */
  readonly card: Element
  /** The QR code, which is connected while one is drawn. */
  readonly code: SVGGraphicsElement
  /** Whether the box is too small for what the widget draws. */
  readonly isCut: () => boolean
}

/** Judges the container as it is now. */
export function judge(parts: Parts, memory: Memory): Containment {
  const findings: Findings = { broken: new Set(), unknown: new Set() }
  const { broken, unknown } = findings
  const { container, card, code } = parts
  if (!container.isConnected) broken.add('detached')
  else if (!container.checkVisibility()) broken.add('not_displayed')
  else {
    const { visibility, pointerEvents } = getComputedStyle(container)
    // A QR code that has no room is not drawn.
    const isDrawn = code.getClientRects().length > 0
    const target = isDrawn ? code : card
    if (visibility !== 'visible') broken.add('not_visible')
    if (pointerEvents === 'none') broken.add('not_interactive')
    checkAppearance(target, findings)
    checkSize(parts, isDrawn, findings)
    const reach = checkReach(target, isDrawn, findings)
    // A rule that is already broken explains what a search by point does not find.
    if (broken.size === 0) checkCovers(target, { reach, memory, findings })
  }
  // A broken rule outweighs every unknown one.
  if (broken.size > 0) return { verdict: 'breached', breaches: [...broken] }
  return { verdict: unknown.size > 0 ? 'unverified' : 'ok', breaches: [...unknown] }
}
