import { crc32, deflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')

/** One chunk of a PNG. */
export function pngChunk(type: string, data: Uint8Array = new Uint8Array()): Buffer {
  const body = Buffer.concat([Buffer.from(type), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

/** A gray PNG of this size, with further chunks before its end. */
export function png(width = 8, height = 8, ...others: Buffer[]): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // Eight bits a pixel, gray, not interlaced.
  header[8] = 8
  const rows = deflateSync(Buffer.alloc((width + 1) * height))
  const chunks = [pngChunk('IHDR', header), pngChunk('IDAT', rows), ...others, pngChunk('IEND')]
  return Buffer.concat([SIGNATURE, ...chunks])
}
