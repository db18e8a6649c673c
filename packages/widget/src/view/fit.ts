/** From this height on, the box can show the regular layout. */
const REGULAR_HEIGHT_PX = 360
/** Tolerates the rounding of layout. */
const TOLERANCE_PX = 1

/** Fits the card into the box that the page reserves. */
export interface Fit {
  /** Chooses the layout anew. Call it when the content or the box has changed. */
  readonly fit: () => void
  /** Whether the box is too small for the card, even in the smallest layout. */
  readonly isCut: () => boolean
}

/**
 * The regular layout where the reserved box has room for it, otherwise the compact one. A box that
 * may grow (`min-height`) grows where the content needs it, such as large text, and keeps that
 * height while its width stays the same. In a box of fixed height the card leaves out what the phone shows anyway.
 *
 * @param sizing a sheet of the host's shadow root, for the height that the content needs
 */
export function fitIn(host: HTMLElement, card: HTMLElement, sizing: CSSStyleSheet): Fit {
  let neededPx = 0
  let widthPx = 0
  /** The height inside the borders and the padding of the host. */
  const roomPx = () => {
    const { top, height } = host.getBoundingClientRect()
    // In the units of layout, whatever the zoom or a transform of the page does to the box.
    return host.offsetHeight * (1 - (2 * (card.getBoundingClientRect().top - top)) / (height || 1))
  }
  const isCut = () =>
    card.offsetHeight > roomPx() + TOLERANCE_PX ||
    card.scrollWidth > card.clientWidth + TOLERANCE_PX
  const fits = (layout: string, step: number) => {
    card.dataset['layout'] = layout
    card.dataset['fit'] = `${step}`
    return !isCut()
  }
  const fitsGrown = () => {
    neededPx = Math.max(neededPx, card.offsetHeight)
    sizing.replaceSync(`:host{contain-intrinsic-height:${neededPx}px}`)
    return !isCut()
  }
  return {
    isCut,
    fit() {
      card.style.minHeight = ''
      if (widthPx !== host.offsetWidth) {
        widthPx = host.offsetWidth
        neededPx = 0
        sizing.replaceSync('')
      }
      void (
        (roomPx() >= REGULAR_HEIGHT_PX && (fits('regular', 0) || fitsGrown())) ||
        fits('compact', 0) ||
        fits('compact', 1) ||
        fitsGrown() ||
        fits('compact', 2) ||
        fits('compact', 3)
      )
      card.style.minHeight = `${roomPx()}px`
    },
  }
}
