import { bare } from '@bonded/contract'
import { encode } from 'uqr'
import { drawing } from './dom.ts'

/** The quiet zone that ISO 18004 asks for, in modules. Part of the drawing, so that no page can crop it. */
const QUIET_ZONE = 4

/** A code on the page. */
export interface QrCode {
  readonly node: SVGSVGElement
  /** Draws another payload in place: nothing is announced, no focus is lost. */
  readonly draw: (payload: string) => void
}

/** An empty code. Dark on light in every colour scheme: many scanners read no other. */
export function qrCode(label: string): QrCode {
  const ground = drawing('path', { fill: '#fff' })
  const modules = drawing('path', { fill: '#000' })
  const node = drawing(
    'svg',
    { class: 'qr', role: 'img', 'aria-label': label, 'shape-rendering': 'crispEdges' },
    ground,
    modules,
  )
  let drawn = ''
  return {
    node,
    draw(payload) {
      if (payload === drawn) return
      drawn = payload
      const { size, data } = encode(payload, bare({ ecc: 'M' as const, border: QUIET_ZONE }))
      node.setAttribute('viewBox', `0 0 ${size} ${size}`)
      ground.setAttribute('d', `M0 0h${size}v${size}H0z`)
      modules.setAttribute('d', data.map(rowPath).join(''))
    },
  }
}

/** One stroke a run of dark modules. */
function rowPath(row: boolean[], y: number): string {
  let path = ''
  for (let x = 0; x < row.length; x += 1) {
    const start = x
    while (row[x]) x += 1
    if (x > start) path += `M${start} ${y}h${x - start}v1h${start - x}z`
  }
  return path
}
