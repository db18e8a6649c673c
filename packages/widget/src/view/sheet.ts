import { loadFile } from '../load-file.ts'

/** The path of the styles under the origin of the service, inserted by the bundler. */
declare const PULSE_STYLES_PATH: string
/** The integrity of the styles, inserted by the bundler. */
declare const PULSE_STYLES_INTEGRITY: string

let styles: CSSStyleSheet | undefined
let loading: Promise<boolean> | undefined

/**
 * The styles of all widgets of the page. Until they are loaded, the card is invisible and has no
 * height, and the box has the one that the page reserves.
 */
export function sharedStyles(): CSSStyleSheet {
  if (!styles) {
    // A constructed sheet, so that no style-src is needed.
    styles = new CSSStyleSheet()
    styles.replaceSync(
      ':host{display:block;contain:size;contain-intrinsic-size:360px 168px}.card{height:0;overflow:hidden;opacity:0}',
    )
  }
  return styles
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
