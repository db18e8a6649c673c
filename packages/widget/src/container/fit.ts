/** The height from which the box can show the regular layout. */
const REGULAR_HEIGHT_PX = 360
/** Tolerates the rounding of layout. */
const TOLERANCE_PX = 1

/**
 * Classes of the card. Each step of a layout adds the next one. `brief` leaves out the sentence
 * below the title, `bare` the one above the pairs, `poor` the pairs, and `lone` the title. With
 * `below`, for narrow boxes, the text is above and below the QR code, without the tenant.
 */
const LOOKS = ['small', 'brief', 'bare', 'poor', 'below', 'lone']
/** Steps below this one have the regular layout, which leaves out no pair. */
const FIRST_COMPACT = 4
const LAST = FIRST_COMPACT + LOOKS.length
/** The steps at which a box that may grow does: beside the QR code, and around it. */
const GROWING = [FIRST_COMPACT + 1, LAST - 1]

/** Fits the card into the box that the page reserves. */
export interface Fit {
  /** Chooses the layout anew. Call it when the content or the box has changed. */
  readonly fit: () => void
  /** Whether the box is too small for the card, even in the smallest layout. */
  readonly isCut: () => boolean
}

/**
 * The regular layout where the reserved box has room for it, otherwise the compact one, which
 * leaves out what the phone shows anyway. Where not even the QR code and one line fit, as with
 * large text, a box that may grow (`min-height`) grows, and keeps that height while its width stays
 * the same. In a box of fixed height the card then shows no QR code.
 *
 * The layout is chosen at once, and whenever the box changes.
 */
export function fitIn(host: HTMLElement, card: HTMLElement): Fit {
  // The height that the content needs.
  const sizing = new CSSStyleSheet()
  host.shadowRoot!.adoptedStyleSheets.push(sizing)
  let widthPx = 0
  /** A box that has grown keeps its height and its layout. */
  let grownPx = 0
  let first = 0
  let roomPx = 0
  let isCut = false
  /** Sizes the box, and measures the height inside its borders and padding. */
  const size = () => {
    sizing.replaceSync(grownPx ? `:host{contain-intrinsic-height:${grownPx}px}` : '')
    const { top, height } = host.getBoundingClientRect()
    // In the units of layout, whatever the zoom or a transform of the page does to the box.
    const share = 1 - (2 * (card.getBoundingClientRect().top - top)) / (height || 1)
    roomPx = host.offsetHeight * share
  }
  /** The height that the card needs at a step. */
  const neededPx = (step: number) => {
    const isRegular = step < FIRST_COMPACT
    card.dataset['layout'] = isRegular ? 'regular' : 'compact'
    const looks = LOOKS.slice(0, isRegular ? step : step - FIRST_COMPACT)
    card.className = ['card', ...looks].join(' ')
    card.style.height = ''
    return card.offsetHeight
  }
  const fits = (step: number) => {
    const needed = neededPx(step)
    card.style.height = `${roomPx}px`
    return needed <= roomPx + TOLERANCE_PX && card.scrollWidth <= card.clientWidth + TOLERANCE_PX
  }
  const fitsGrown = (step: number) => {
    grownPx = neededPx(step)
    first = step
    size()
    return fits(step)
  }
  const fit = () => {
    if (widthPx !== host.offsetWidth) first = grownPx = 0
    widthPx = host.offsetWidth
    size()
    let step = Math.max(first, roomPx < REGULAR_HEIGHT_PX ? FIRST_COMPACT : 0)
    while (step <= LAST && !fits(step)) step += 1
    isCut = step > LAST && !GROWING.some(fitsGrown)
    if (!isCut) return
    first = grownPx = 0
    size()
    fits(LAST)
    // A user reads how the session ended even where a part of the text is cut.
    if (card.dataset['tone'] === 'busy') card.className += ' none'
  }
  fit()
  new ResizeObserver(fit).observe(host)
  return { fit, isCut: () => isCut }
}
