import { encodeQr } from '@bonded/contract'
import { drawing } from './dom.ts'

/** ISO 18004 requires a quiet zone of four modules. */
const QUIET_ZONE = 4

/** A QR code, dark on light in every color scheme: many scanners read no other. */
export function qrCode(payload: string, label: string): SVGSVGElement {
  const rows = encodeQr(new TextEncoder().encode(payload))
  const size = rows.length + 2 * QUIET_ZONE
  const path = rows
    .flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('')
  const ground = drawing('path', {
    d: `M${-QUIET_ZONE} ${-QUIET_ZONE}h${size}v${size}h-${size}z`,
  })
  const modules = drawing('path', { d: path })
  const code = drawing(
    'svg',
    {
      class: 'qr',
      role: 'img',
      'aria-label': label,
      viewBox: `${-QUIET_ZONE} ${-QUIET_ZONE} ${size} ${size}`,
      'shape-rendering': 'crispEdges',
    },
    ground,
    modules,
  )
  paint(code, '#fff')
  paint(ground, '#fff')
  paint(modules, '#000')
  return code
}

/** Paints in a color that the rules of extensions and of forced colors do not change. */
function paint(node: SVGElement, fill: string): void {
  const plain = { fill, opacity: '1', 'fill-opacity': '1', stroke: 'none', filter: 'none' }
  for (const [name, value] of Object.entries({ ...plain, 'mix-blend-mode': 'normal' }))
    node.style.setProperty(name, value, 'important')
}
