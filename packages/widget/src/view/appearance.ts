import { NO_MEMBERS, ownMembers, withoutNulls } from '@bonded/contract'
import { PulseError } from '../pulse-error.ts'

/** How the widget looks on your page. Every member is optional; null counts as omitted. */
export interface Appearance {
  /** The color scheme. By default, or with `auto`, what the page declares for the container. */
  readonly theme?: 'light' | 'dark' | 'auto' | null | undefined
  /**
   * The color of buttons and links, `#rrggbb`. The widget darkens or lightens it where its contrast
   * would be below 4.5:1.
   */
  readonly accent?: string | null | undefined
  /** The radius of the card's corners, 0 to 24 CSS px. */
  readonly radius?: number | null | undefined
  /** Font families as in CSS, such as `Inter, sans-serif`. The widget loads no font. */
  readonly font?: string | null | undefined
}

/** A checked appearance: the members that are set, by name. */
export type Look = readonly (readonly [name: string, value: string])[]

/**
 * The form of each member. The names of font families contain nothing that ends a declaration, and
 * no function such as `url()`.
 */
const FORMS: Record<keyof Appearance, RegExp> = {
  theme: /^(?:light|dark|auto)$/,
  accent: /^#[\da-f]{6}$/i,
  radius: /^(?:1?\d|2[0-4])$/,
  font: /^[\p{L}\d ,'"_-]{1,200}$/u,
}

/**
 * Returns the checked appearance. A wrong value fails instead of being ignored, so that
 * a page finds its mistake at once.
 *
 * @throws PulseError for a wrong value
 */
export function checkAppearance(given: unknown = NO_MEMBERS): Look {
  const passed = ownMembers(given)
  const members = passed && withoutNulls(passed)
  return Object.entries(FORMS).flatMap(([name, form]): [string, string][] => {
    const value = members?.[name]
    if (!members || (value !== undefined && !form.test(String(value))))
      throw new PulseError(
        'appearance_invalid',
        'Pass `appearance` as { theme: light, dark or auto, accent: #rrggbb, radius: 0 to 24, font: font families }.',
      )
    return value === undefined || value === 'auto' ? [] : [[name, String(value)]]
  })
}
