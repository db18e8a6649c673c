import { COLORS } from './styles/colors.ts'
import { LAYOUTS } from './styles/layouts.ts'
import { PARTS } from './styles/parts.ts'

/** A constructed sheet, so that no style-src is needed. */
export function sheet(css = LAYOUTS + PARTS + COLORS): CSSStyleSheet {
  const made = new CSSStyleSheet()
  made.replaceSync(css)
  return made
}
