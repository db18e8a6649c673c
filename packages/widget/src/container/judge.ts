import { checkAppearance } from './appearance.ts'
import type { Containment, Findings } from './containment.ts'
import { checkCovers, type Memory } from './covers.ts'
import { checkReach } from './reach.ts'
import { isRendered } from './rendered.ts'
import { checkSize } from './size.ts'

/** The parts of the widget that its page can hide. */
export interface Parts {
  readonly container: HTMLElement
  /** All that the widget draws. */
  readonly card: Element
  /** The QR code, or the service's frame, where there is one. */
  readonly centerpiece: () => Element | null
  /** Whether the box is too small for what the widget draws. */
  readonly isCut: () => boolean
}

/** The QR code or the frame. One that has no room is not drawn. */
export function drawnIn({ centerpiece }: Parts): Element | null {
  const found = centerpiece()
  return found?.getClientRects().length ? found : null
}

/** Judges the container as it is now. */
export function judge(parts: Parts, memory: Memory): Containment {
  const findings: Findings = { broken: new Set(), unknown: new Set() }
  const { broken, unknown } = findings
  const { container, card } = parts
  if (!container.isConnected) broken.add('detached')
  else if (!isRendered(container)) broken.add('not_displayed')
  else {
    const { visibility, pointerEvents } = getComputedStyle(container)
    const drawn = drawnIn(parts)
    const target = drawn ?? card
    if (visibility !== 'visible') broken.add('not_visible')
    if (pointerEvents === 'none') broken.add('not_interactive')
    checkAppearance(target, findings)
    checkSize(parts, target, findings)
    const reach = checkReach(target, Boolean(drawn), findings)
    // A rule that is already broken explains what a search by point does not find.
    if (broken.size === 0) checkCovers(target, { reach, memory, findings })
  }
  // A broken rule outweighs every unknown one.
  if (broken.size > 0) return { verdict: 'breached', breaches: [...broken] }
  return { verdict: unknown.size > 0 ? 'unverified' : 'ok', breaches: [...unknown] }
}
