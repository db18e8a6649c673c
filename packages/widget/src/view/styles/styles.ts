import { COLORS } from './colors.ts'
import { LAYOUTS } from './layouts.ts'
import { PARTS } from './parts.ts'

/**
 * All styles of the widget. They are a file of their own, which the script loads and checks: they
 * are 2 kB gzip of what would otherwise be the script.
 */
export const STYLES = LAYOUTS + PARTS + COLORS
