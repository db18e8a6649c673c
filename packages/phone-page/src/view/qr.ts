import { encode } from 'uqr'
import { drawing } from './dom.ts'

/** ISO 18004 requires a quiet zone of four modules. */
const QUIET_ZONE = 4

/** A QR code, dark on light in every color scheme: many scanners read no other. */
export function qrCode(payload: string, label: string): SVGSVGElement {
  const { size, data } = encode(payload, { ecc: 'M', border: QUIET_ZONE })
  const path = data
    .flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('')
  return drawing(
    'svg',
    {
      class: 'qr',
      role: 'img',
      'aria-label': label,
      viewBox: `0 0 ${size} ${size}`,
      'shape-rendering': 'crispEdges',
    },
    drawing('path', { fill: '#fff', d: `M0 0h${size}v${size}H0z` }),
    drawing('path', { fill: '#000', d: path }),
  )
}
