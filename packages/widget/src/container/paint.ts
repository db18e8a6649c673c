import { lineOf } from './flat-tree.ts'

/** Colors that are at most half opaque. */
const FAINT = /(rgba\([^)]*, |\w+\([^)]*\/ )0(\.([0-4]\d*|50*))?\)/g
/** Colors and pictures in a computed background. */
const PAINT = /(rgba?|color|lab|lch|url|image-set|element)\(/
/** Elements that show content of their own. */
const REPLACED = /^(iframe|img|video|canvas|object|embed|svg|path|rect|image|use)$/i
/** An element that is fainter leaves what is below it readable. */
const FAINT_OPACITY = 0.5

/**
 * Whether an element paints over what is below it at a point. Its text, borders and shadows do not
 * count: they cover little.
 *
 * @param isBox whether its own box can be in front. Otherwise only its pseudo-elements are
 */
export function paints(
  element: Element,
  { x, y, isBox }: { x: number; y: number; isBox: boolean },
): boolean {
  const { left, right, top, bottom } = element.getBoundingClientRect()
  const isInBox = isBox && x >= left && x <= right && y >= top && y <= bottom
  let opacity = 1
  for (const ancestor of lineOf(element)) opacity *= Number(getComputedStyle(ancestor).opacity)
  return (
    opacity > FAINT_OPACITY &&
    ((isInBox && (REPLACED.test(element.tagName) || hasBackground(getComputedStyle(element)))) ||
      ['::before', '::after'].some((name) => {
        const style = getComputedStyle(element, name)
        return style.content !== 'none' && style.position !== 'static' && hasBackground(style)
      }))
  )
}

function hasBackground(style: CSSStyleDeclaration): boolean {
  const { opacity, backgroundColor, backgroundImage, backdropFilter } = style
  return (
    Number(opacity) > FAINT_OPACITY &&
    ((backdropFilter || 'none') !== 'none' ||
      PAINT.test((backgroundColor + backgroundImage).replace(FAINT, '')))
  )
}
