import type { ContainerBreach, ContainmentVerdict } from '@bonded/contract'

/**
 * Whether the container meets the container contract, as far as this browser can tell.
 *
 * | verdict | meaning of `breaches` |
 * |---|---|
 * | `ok` | empty: every rule is met |
 * | `unverified` | the rules that this browser cannot check, or not now |
 * | `breached` | the rules that are certainly broken. The QR code is hidden, and the widget closes if this lasts |
 */
export interface Containment {
  readonly verdict: ContainmentVerdict
  readonly breaches: readonly ContainerBreach[]
}

/**
 * The event of a changed verdict, which the widget dispatches on its container. It bubbles, so a
 * page can also listen on its document.
 *
 * @example container.addEventListener('pulse:containment', ({ detail }) => console.log(detail.verdict))
 */
export type ContainmentEvent = CustomEvent<Containment>

declare global {
  interface HTMLElementEventMap {
    'pulse:containment': ContainmentEvent
  }
}

/** What the checks have found: broken rules, and rules that the browser cannot check. */
export interface Findings {
  readonly broken: Set<ContainerBreach>
  readonly unknown: Set<ContainerBreach>
}
