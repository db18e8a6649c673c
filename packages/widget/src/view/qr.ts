import type { encodeQr } from '@bonded/contract'
import { drawing } from './dom.ts'

/**
 * The quiet zone that ISO 18004 requires, in modules. It is part of the drawing, so that no page
 * can crop it.
 */
const QUIET_ZONE = 4

/** A QR code on the page. */
export interface QrCode {
  readonly node: SVGSVGElement
  /** Draws another payload in place, without an announcement or a change of focus. */
  readonly draw: (payload: string, encode: typeof encodeQr) => void
}

/**
 * Creates an empty QR code. Dark on light in every color scheme, because many scanners read no
 * other.
 */
export function qrCode(label: string): QrCode {
  const ground = drawing('path')
  const modules = drawing('path')
  const node = drawing(
    'svg',
    { class: 'qr', role: 'img', 'aria-label': label, 'shape-rendering': 'crispEdges' },
    ground,
    modules,
  )
  paint(node, '#fff')
  paint(ground, '#fff')
  paint(modules, '#000')
  let drawn = ''
  return {
    node,
    draw(payload, encode) {
      if (payload === drawn) return
      drawn = payload
      const rows = encode(new TextEncoder().encode(payload))
      const size = rows.length + 2 * QUIET_ZONE
      node.setAttribute('viewBox', `${-QUIET_ZONE} ${-QUIET_ZONE} ${size} ${size}`)
      ground.setAttribute('d', `M${-QUIET_ZONE} ${-QUIET_ZONE}h${size}v${size}h-${size}z`)
      modules.setAttribute('d', rows.map(rowPath).join(''))
    },
  }
}

/** One stroke per run of dark modules. */
function rowPath(row: boolean[], y: number): string {
  let path = ''
  for (let x = 0; x < row.length; x += 1) {
    const start = x
    while (row[x]) x += 1
    if (x > start) path += `M${start} ${y}h${x - start}v1h${start - x}z`
  }
  return path
}

/** Paints in a color that the rules of extensions and of forced colors do not change. */
function paint(node: SVGElement, fill: string): void {
  const plain = { fill, opacity: '1', 'fill-opacity': '1', stroke: 'none', filter: 'none' }
  for (const [name, value] of Object.entries({ ...plain, 'mix-blend-mode': 'normal' }))
    node.style.setProperty(name, value, 'important')
}
