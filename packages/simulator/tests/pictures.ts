import { PNG } from 'pngjs'
import { encodeQR } from 'qr'

/** A screenshot as PNG: the QR code on a page of the given colors. */
export function screenshot(
  text: string,
  { scale = 4, ink = [0, 0, 0], paper = [255, 255, 255] } = {},
): Buffer {
  const modules = encodeQR(text, 'raw', { ecc: 'medium', border: 4 })
  const [left, top] = [37, 61]
  const side = modules.length * scale
  const png = new PNG({ width: side + 200, height: side + 150 })
  for (let y = 0; y < png.height; y++) {
    for (let x = 0; x < png.width; x++) {
      const dark = modules[Math.floor((y - top) / scale)]?.[Math.floor((x - left) / scale)] ?? false
      png.data.set([...(dark ? ink : paper), 255], (y * png.width + x) * 4)
    }
  }
  return PNG.sync.write(png)
}

/** An SVG in the form of the service's qr.svg: one path of horizontal runs, in modules. */
export function runsSvg(text: string): string {
  const modules = encodeQR(text, 'raw', { ecc: 'medium', border: 4 })
  let path = ''
  for (const [y, row] of modules.entries()) {
    for (let x = 0; x < row.length; x++) {
      let run = 0
      while (row[x + run]) run++
      if (run > 0) path += `M${x} ${y}h${run}v1h-${run}z`
      x += run
    }
  }
  const size = modules.length
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}"><title>Code</title><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path fill="#000" d="${path}"/></svg>`
}
