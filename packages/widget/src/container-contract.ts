/** A rule of the container contract that a container breaks. */
export type Breach =
  | 'detached'
  | 'not_displayed'
  | 'not_visible'
  | 'transparent'
  | 'not_interactive'
  | 'scaled'
  | 'off_screen'
  | 'too_small'
  | 'clipped'

/**
 * Below this opacity a user cannot read the widget. A form that a page dims while it waits stays
 * above.
 */
export const LEAST_OPACITY = 0.5
/** Tolerates the rounding of layout. A transform exceeds it. */
const SCALE_TOLERANCE = 0.02
/**
 * The smallest box in which a phone can scan the QR code and a user can read the text. The contract
 * reserves 168 px.
 */
export const LEAST_WIDTH_PX = 180
export const LEAST_HEIGHT_PX = 150
/** The time that a dialog has to appear after the click that opens it. */
const SETTLING_MS = 1_000
const SETTLING_STEP_MS = 100

/** The reserved container: by id, or the first element with `data-pulse-widget`. */
export function findContainer(containerId: string | undefined): HTMLElement | null {
  return containerId === undefined
    ? document.querySelector<HTMLElement>('[data-pulse-widget]')
    : document.getElementById(containerId)
}

/**
 * The first rule of the container contract that is certainly broken now; undefined when all are
 * met. Reads computed styles up the tree, through slots and shadow roots, and the resulting box.
 */
export function breachOf(container: HTMLElement): Breach | undefined {
  if (!container.isConnected) return 'detached'
  const own = getComputedStyle(container)
  if (own.visibility !== 'visible') return 'not_visible'
  if (own.pointerEvents === 'none' || container.closest('[inert]')) return 'not_interactive'
  let opacity = 1
  for (let element: Element | null = container; element; element = parentOf(element)) {
    const style = getComputedStyle(element)
    if (style.display === 'none' || style.contentVisibility === 'hidden') return 'not_displayed'
    opacity *= Number(style.opacity)
    if (element !== container && clips(element, style)) return 'clipped'
  }
  return opacity < LEAST_OPACITY ? 'transparent' : breachOfBox(container)
}

/** The rule that the container still breaks once the page has settled. */
export async function settledBreachOf(container: HTMLElement): Promise<Breach | undefined> {
  const until = performance.now() + SETTLING_MS
  for (;;) {
    const breach = breachOf(container)
    if (!breach || performance.now() >= until) return breach
    await new Promise((resolve) => setTimeout(resolve, SETTLING_STEP_MS))
  }
}

function breachOfBox(container: HTMLElement): Breach | undefined {
  const box = container.getBoundingClientRect()
  if (isScaled(box.width, container.offsetWidth) || isScaled(box.height, container.offsetHeight))
    return 'scaled'
  if (box.width < LEAST_WIDTH_PX || box.height < LEAST_HEIGHT_PX) return 'too_small'
  // A container may be scrolled out of view, but not placed where scrolling cannot reach.
  const page = document.documentElement
  const left = box.left + scrollX
  const top = box.top + scrollY
  if (
    left + box.width <= 0 ||
    top + box.height <= 0 ||
    left >= page.scrollWidth ||
    top >= page.scrollHeight
  )
    return 'off_screen'
  return undefined
}

/** Transforms of the element or an ancestor change the rendered box, but not the layout box. */
function isScaled(rendered: number, laidOut: number): boolean {
  return (
    laidOut > 0 &&
    Math.abs(rendered / laidOut - 1) > SCALE_TOLERANCE &&
    Math.abs(rendered - laidOut) > 1
  )
}

function clips(element: Element, style: CSSStyleDeclaration): boolean {
  return (
    style.overflow !== 'visible' &&
    style.display !== 'inline' &&
    style.display !== 'contents' &&
    (element.clientWidth < 1 || element.clientHeight < 1)
  )
}

function parentOf(element: Element): Element | null {
  if (element.assignedSlot) return element.assignedSlot
  const root = element.getRootNode()
  return element.parentElement ?? (root instanceof ShadowRoot ? root.host : null)
}
