/** A grayscale picture: one byte per pixel, 0 is black. */
export interface Raster {
  readonly width: number
  readonly height: number
  readonly luma: Uint8Array
}

type Point = readonly [x: number, y: number]

/** Large enough for a decoder to see every module. A drawing cannot request more memory. */
const TARGET_SIDE_PX = 600
/** More than the modules of the largest QR code. */
const MAX_SHAPES = 40_000
const PATH_TOKEN = /[A-Za-z]|[-+]?(?:\d*\.\d+|\d+\.?)(?:[eE][-+]?\d+)?/g
const NUMBERS_OF: Record<string, number> = { M: 2, L: 2, H: 1, V: 1, Z: 0 }

/**
 * Draws the paths (M, L, H, V, Z and their relative forms) and rectangles of a QR code's SVG, in
 * document order, on white.
 *
 * @returns undefined if the text is not such a drawing
 */
export function rasterizeSvg(svg: string): Raster | undefined {
  const box = viewBoxOf(/<svg\b([^>]*)>/.exec(svg)?.[1] ?? '')
  if (box === undefined) return undefined
  const shapes = [...svg.matchAll(/<(path|rect)\b((?:[^>"']|"[^"]*"|'[^']*')*)>/g)]
  if (shapes.length === 0 || shapes.length > MAX_SHAPES) return undefined
  const scale = TARGET_SIDE_PX / Math.max(box.width, box.height)
  const [width, height] = [Math.round(box.width * scale), Math.round(box.height * scale)]
  const luma = new Uint8Array(width * height).fill(255)
  for (const [, name, attributes = ''] of shapes) {
    const ink = inkOf(attributes)
    if (ink === undefined) continue
    const outline =
      name === 'path' ? pathOutline(attribute(attributes, 'd') ?? '') : rectOutline(attributes, box)
    if (outline === undefined) return undefined
    const placed = outline.map((ring) =>
      ring.map(([x, y]): Point => [(x - box.x) * scale, (y - box.y) * scale]),
    )
    fill({ width, height, luma }, placed, ink)
  }
  return { width, height, luma }
}

interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

function viewBoxOf(attributes: string): Box | undefined {
  const given = (attribute(attributes, 'viewBox') ?? '')
    .trim()
    .split(/[\s,]+/)
    .map(Number)
  const size = ['width', 'height'].map((side) =>
    Number.parseFloat(attribute(attributes, side) ?? ''),
  )
  const [x = 0, y = 0, width = 0, height = 0] = given.length === 4 ? given : [0, 0, ...size]
  const usable =
    [x, y, width, height].every(Number.isFinite) &&
    width > 0 &&
    height > 0 &&
    Math.max(width / height, height / width) < 4
  return usable ? { x, y, width, height } : undefined
}

function attribute(attributes: string, name: string): string | undefined {
  const found = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(attributes)
  return found?.[1] ?? found?.[2]
}

/** Returns 0 or 255. Undefined for a transparent shape. The default fill of SVG is black. */
function inkOf(attributes: string): number | undefined {
  const styled = /(?:^|;)\s*fill\s*:\s*([^;]+)/.exec(attribute(attributes, 'style') ?? '')?.[1]
  const color = (styled ?? attribute(attributes, 'fill') ?? 'black').trim().toLowerCase()
  if (color === 'none' || color === 'transparent') return undefined
  return color === 'white' ||
    /^#(?:f{3}|f{6})$/.test(color) ||
    /^rgb\(\s*255\D+255\D+255\s*\)$/.test(color)
    ? 255
    : 0
}

function rectOutline(attributes: string, box: Box): Point[][] {
  const measure = (name: string, whole: number) => {
    const text = attribute(attributes, name) ?? '0'
    return (Number.parseFloat(text) || 0) * (text.endsWith('%') ? whole / 100 : 1)
  }
  const [x, y] = [measure('x', box.width), measure('y', box.height)]
  const [right, bottom] = [x + measure('width', box.width), y + measure('height', box.height)]
  return [
    [
      [x, y],
      [right, y],
      [right, bottom],
      [x, bottom],
    ],
  ]
}

/** Returns the rings of a path. Undefined for a command that QR codes do not use. */
function pathOutline(d: string): Point[][] | undefined {
  const tokens = d.match(PATH_TOKEN) ?? []
  const rings: Point[][] = []
  let ring: Point[] = []
  let [x, y] = [0, 0]
  let command = ''
  for (let index = 0; index < tokens.length; ) {
    const token = tokens[index] ?? ''
    const isCommand = /^[A-Za-z]/.test(token)
    if (isCommand) {
      command = token
      index++
    } else if (command === 'M') command = 'L'
    else if (command === 'm') command = 'l'
    const kind = command.toUpperCase()
    const count = NUMBERS_OF[kind]
    // Z takes no numbers.
    if (count === undefined || (count === 0 && !isCommand)) return undefined
    const [first = Number.NaN, second = Number.NaN] = tokens.slice(index, index + count).map(Number)
    index += count
    const relative = command !== kind
    if (kind === 'Z') [x, y] = ring[0] ?? [x, y]
    else if (kind === 'H') x = relative ? x + first : first
    else if (kind === 'V') y = relative ? y + first : first
    else [x, y] = relative ? [x + first, y + second] : [first, second]
    if (Number.isNaN(x + y)) return undefined
    if (kind === 'M' || kind === 'Z') rings.push((ring = [[x, y]]))
    else ring.push([x, y])
  }
  return rings
}

/** Fills by the non-zero rule. Each pixel is sampled at its center. */
function fill(
  { width, height, luma }: Raster,
  rings: readonly (readonly Point[])[],
  ink: number,
): void {
  const crossings: { x: number; turn: number }[][] = Array.from({ length: height }, () => [])
  for (const ring of rings) {
    for (const [index, [x0, y0]] of ring.entries()) {
      const [x1, y1] = ring[(index + 1) % ring.length] ?? [x0, y0]
      const [from, to] = [
        Math.max(0, Math.ceil(Math.min(y0, y1) - 0.5)),
        Math.min(height, Math.ceil(Math.max(y0, y1) - 0.5)),
      ]
      for (let row = from; row < to; row++)
        crossings[row]?.push({
          x: x0 + ((row + 0.5 - y0) / (y1 - y0)) * (x1 - x0),
          turn: y1 > y0 ? 1 : -1,
        })
    }
  }
  for (const [row, found] of crossings.entries()) {
    let winding = 0
    for (const [index, { x, turn }] of found.sort((a, b) => a.x - b.x).entries()) {
      winding += turn
      const end = winding === 0 ? x : (found[index + 1]?.x ?? x)
      const clamp = (edge: number) => Math.min(width, Math.max(0, Math.ceil(edge - 0.5)))
      if (winding !== 0) luma.fill(ink, row * width + clamp(x), row * width + clamp(end))
    }
  }
}
