import type { Findings } from './containment.ts'
import type { Parts } from './judge.ts'

/** The smallest CSS zoom at which a phone can scan the smallest QR code. */
const LEAST_ZOOM = 0.8
/** Tolerates the rounding of layout. A transform exceeds it. */
const TOLERANCE = 0.02

/** Checks the box of the container, and how transforms change a QR code that is drawn in it. */
export function checkSize(
  { container, isCut }: Pick<Parts, 'container' | 'isCut'>,
  target: Element,
  { broken }: Findings,
): void {
  const { width, height } = container.getBoundingClientRect()
  const zoom = (container as { currentCSSZoom?: number }).currentCSSZoom ?? 1
  // The matrix multiplies the transforms of all ancestors.
  const { a, b, c, d } = (target as SVGGraphicsElement).getScreenCTM?.() || new DOMMatrix()
  const limit = TOLERANCE * Math.abs(a)
  if (a <= 0 || d <= 0 || Math.abs(b) > limit || Math.abs(c) > limit || Math.abs(a - d) > limit)
    broken.add('distorted')
  else if (
    zoom < LEAST_ZOOM ||
    isScaled(width, container.offsetWidth * zoom) ||
    isScaled(height, container.offsetHeight * zoom)
  )
    broken.add('scaled')
  if (isCut()) broken.add('too_small')
}

/** Transforms of the element or an ancestor change the rendered box, but not the layout box. */
function isScaled(rendered: number, laidOut: number): boolean {
  return Math.abs(rendered - laidOut) > 1 + TOLERANCE * laidOut
}
