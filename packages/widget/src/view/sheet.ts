import { loadFile } from '../load-file.ts'

/** The path of the styles under the origin of the service, inserted by the bundler. */
declare const PULSE_STYLES_PATH: string
/** The integrity of the styles, inserted by the bundler. */
declare const PULSE_STYLES_INTEGRITY: string

let styles: CSSStyleSheet | undefined
let loading: Promise<boolean> | undefined

/** A constructed sheet, so that no style-src is needed. */
export function sheet(css = ''): CSSStyleSheet {
  const made = new CSSStyleSheet()
  made.replaceSync(css)
  return made
}

/** The styles of all widgets of the page. The card is invisible until they are loaded. */
export function sharedStyles(): CSSStyleSheet {
  return (styles ??= sheet('.card{opacity:0}'))
}

/**
 * Loads the styles once, and again after a failure. Their integrity is checked.
 *
 * @returns whether they are loaded
 */
export function loadStyles(origin: string): Promise<boolean> {
  return (loading ??= loadFile(new URL(PULSE_STYLES_PATH, origin), PULSE_STYLES_INTEGRITY).then(
    (css) => {
      sharedStyles().replaceSync(css)
      return true
    },
    () => {
      loading = undefined
      // Plain text is better than none.
      sharedStyles().replaceSync('')
      return false
    },
  ))
}
