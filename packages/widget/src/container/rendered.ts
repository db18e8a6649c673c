/**
 * Whether an element has a box that the browser draws. Safari 16.4 lacks `checkVisibility`, and
 * `content-visibility`, under which an element that is not drawn has boxes too.
 */
export function isRendered(element: Element): boolean {
  return element.checkVisibility?.() ?? element.getClientRects().length > 0
}
