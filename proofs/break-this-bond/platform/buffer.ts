import { decodeBase64url, encodeBase64url } from '@bonded/contract'
import { equalBytes } from '@noble/curves/utils.js'
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'

/** What the service's verifiers use of Node's `Buffer`. */
export class Buffer extends Uint8Array<ArrayBuffer> {
  static override from(...given: readonly unknown[]): Buffer {
    const [source, form, length] = given
    if (source instanceof ArrayBuffer) return new Buffer(source, form as number, length as number)
    const bytes = typeof source === 'string' ? bytesOf(source, form) : (source as Iterable<number>)
    return new Buffer(Uint8Array.from(bytes).buffer)
  }

  static concat(parts: readonly Uint8Array[]): Buffer {
    return Buffer.from(concatBytes(...parts))
  }

  static compare(a: Uint8Array, b: Uint8Array): number {
    return equalBytes(a, b) ? 0 : 1
  }

  override subarray(start?: number, end?: number): Buffer {
    const { buffer, byteOffset, length } = super.subarray(start, end)
    return new Buffer(buffer, byteOffset, length)
  }

  equals(other: Uint8Array): boolean {
    return equalBytes(this, other)
  }

  readUInt8(at: number): number {
    return this[at] ?? 0
  }

  readUInt32BE(at: number): number {
    return new DataView(this.buffer, this.byteOffset, this.length).getUint32(at)
  }

  override toString(form?: 'base64url' | 'hex'): string {
    return form === 'hex' ? bytesToHex(this) : encodeBase64url(this)
  }
}

function bytesOf(text: string, form: unknown): Uint8Array {
  return form === 'base64url' ? (decodeBase64url(text) ?? new Uint8Array()) : utf8ToBytes(text)
}
