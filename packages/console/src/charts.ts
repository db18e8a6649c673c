import { type Html, html } from './html.ts'

/** The height of a chart in units of its picture, whose size in pixels the style gives. */
const HEIGHT = 100
/** The width of a bar, and of the space after it. */
const BAR = 8
const GAP = 2

/** A bar of a chart: its size, and what it says when it is pointed at. */
export interface Bar {
  readonly size: number
  readonly says: string
}

/** A chart of bars over time, oldest first. Sizes above the line can have others below it. */
interface Chart {
  readonly title: string
  /** The figure for the whole time. */
  readonly sum: string
  /** What a screen reader says instead of the picture. */
  readonly label: string
  readonly bars: readonly Bar[]
  readonly below?: readonly Bar[]
  readonly tone: 'plain' | 'good' | 'bad'
  /** The texts below it, from the first bar to the last one. */
  readonly axis: readonly string[]
}

/**
 * A chart without a style attribute or a script, which the policy of the pages forbids. Its
 * meaning is in the heights and the sides of the bars, so that it needs no color.
 */
export function chartOf({ title, sum, label, bars, below = [], tone, axis }: Chart): Html {
  const above = highest(bars)
  const all = above + highest(below)
  const line = all === 0 ? HEIGHT : (HEIGHT * above) / all
  const scale = all === 0 ? 0 : HEIGHT / all
  const width = bars.length * (BAR + GAP)
  const place = { scale, line }
  return html`<figure class="chart${below.length > 0 && ' large'}"><figcaption>${title} <b>${sum}</b></figcaption>
<svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}">
<g class="${tone}">${bars.map((bar, index) => drawBar(bar, { ...place, index, isBelow: false }))}</g>
<g class="bad">${below.map((bar, index) => drawBar(bar, { ...place, index, isBelow: true }))}</g>
<path class="line" d="M0 ${rounded(line)}H${width}"/></svg>
<p class="axis">${axis.map((text) => html`<span>${text}</span>`)}</p></figure>`
}

/** A bar of one row of a table, whose parts are shares of the largest row. */
export function shareBar(good: number, bad: number, of: number): Html {
  const [from, width] = of === 0 ? [0, 0] : [(HEIGHT * good) / of, (HEIGHT * bad) / of]
  return html`<svg class="share" viewBox="0 0 ${HEIGHT} 1" preserveAspectRatio="none" aria-hidden="true">
<g class="good"><rect width="${rounded(from)}" height="1"/></g>
<g class="bad"><rect x="${rounded(from)}" width="${rounded(width)}" height="1"/></g></svg>`
}

function drawBar(
  { size, says }: Bar,
  of: { readonly scale: number; readonly line: number; readonly index: number; isBelow: boolean },
): Html | false {
  if (size === 0) return false
  const { scale, line, index, isBelow } = of
  const height = size * scale
  const y = isBelow ? line : line - height
  return html`<rect x="${index * (BAR + GAP) + GAP / 2}" y="${rounded(y)}" width="${BAR}" height="${rounded(height)}"><title>${says}</title></rect>`
}

function highest(bars: readonly Bar[]): number {
  return bars.reduce((most, { size }) => Math.max(most, size), 0)
}

function rounded(length: number): number {
  return Math.round(length * 100) / 100
}
